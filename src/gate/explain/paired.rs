//! A comparison with the baseline, in words.

use super::super::estimate::Estimate;
use super::super::not_worse::{Compared, Numbers, broke, drops};
use super::super::scene::{Finding, Scene};
use super::super::word::names;
use crate::domain::{CaseId, Direction, Reason};
use crate::stats::{
    cases_needed, detectable_drop, deviation_with, smallest_certifying_n, trials_needed, variance_parts,
};
use crate::text::number::{counted, odds, pair, points, score, signed_points};

/// Runs that a pool holds at most (statistics §1.5).
const MOST_RUNS: usize = 10;

/// The paragraph of a paired comparison.
pub(crate) fn comparison(
    finding: Finding,
    scene: &Scene<'_>,
    compared: &Compared<'_>,
    numbers: &Numbers,
    alpha_mean: f64,
) -> Finding {
    let told = Told::new(scene, compared, numbers, alpha_mean);
    let (phrase, explanation) = match finding.comparison.reason {
        Reason::Mean => told.regressed(scene, compared),
        Reason::Breaks => told.broke(&finding),
        Reason::WithinMargin => told.not_worse(finding.comparison.improved),
        Reason::SmallDrop => told.small_drop(),
        Reason::Suspicious => told.suspicious(),
        Reason::NoSign => told.no_sign(),
        Reason::TooFewCases => told.too_few(),
        Reason::Identical => told.identical(),
        // Everything else that a comparison can end in is a matter of missing scores.
        _ => told.missing(compared),
    };
    let drift = numbers.as_is.run_variance > 0.0;
    let drift = if drift {
        " The baseline's runs differ among themselves by more than case noise, which was allowed for."
    } else {
        ""
    };
    finding.saying(phrase, format!("{explanation}{drift}"))
}

/// The numbers of a comparison as words.
struct Told<'n> {
    name: String,
    numbers: &'n Numbers,
    estimate: &'n Estimate,
    /// As shown, on the unit scale.
    interval: Option<(f64, f64)>,
    /// Unit scale.
    moved: f64,
    margin: f64,
    alpha: f64,
    level: f64,
    runs: usize,
    /// Variance within a case, trials of the candidate and of the baseline.
    within: Option<(f64, f64, f64)>,
    broken: Vec<CaseId>,
}

impl<'n> Told<'n> {
    fn new(scene: &Scene<'_>, compared: &Compared<'_>, numbers: &'n Numbers, alpha_mean: f64) -> Self {
        let matchup = compared.matchup.as_ref();
        Self {
            name: super::sliced(&scene.label(&compared.spec.name, compared.target), compared.slice),
            numbers,
            estimate: &numbers.as_is,
            interval: numbers.as_is.shown_interval(compared.spec),
            moved: numbers.as_is.change(compared.spec),
            margin: compared.margin,
            alpha: scene.policy.alpha,
            level: alpha_mean / numbers.family as f64,
            runs: matchup.map_or(0, |matchup| matchup.runs.len()),
            within: matchup.and_then(|matchup| matchup.within(compared.spec)),
            broken: broke(scene, compared),
        }
    }

    fn scores(&self) -> String {
        pair(self.estimate.baseline.value(), self.estimate.current.value())
    }

    /// `, likely between -50.9 and -35.8`; nothing where no interval is shown.
    fn likely(&self, word: &str) -> String {
        self.interval.map_or_else(String::new, |(lower, upper)| {
            format!(", {word}between {} and {}", signed_points(lower), signed_points(upper))
        })
    }

    fn true_change(&self) -> String {
        match self.interval {
            Some((lower, upper)) => {
                format!("the true change lies between {} and {}", signed_points(lower), signed_points(upper))
            }
            None => format!("{} are too few to say where the true change lies", self.cases()),
        }
    }

    fn cases(&self) -> String {
        counted(self.estimate.cases, "case", "cases")
    }

    fn regressed(&self, scene: &Scene<'_>, compared: &Compared<'_>) -> (String, String) {
        let verb = match compared.spec.direction {
            Direction::Higher => "dropped by",
            Direction::Lower => "got worse by",
        };
        let phrase = format!("{} {verb} {} points ({})", self.name, points(self.moved), self.scores());
        let largest: Vec<CaseId> = drops(scene, compared).into_iter().map(|(_, id)| id).collect();
        let Estimate { up, down, .. } = self.estimate;
        let explanation = format!(
            "{} got worse: {} ({} points{}). Of {}, {down} scored lower and {up} higher. If this change had no effect, a \
             drop this large would appear {}, after allowing for the {} checked. Largest drops: {}. Fix them, or accept the new \
             level with scoregate baseline update.",
            self.name,
            self.scores(),
            signed_points(self.moved),
            self.likely("likely "),
            self.cases(),
            odds(self.numbers.p_adjusted, "runs"),
            counted(self.numbers.family as u64, "metric", "metrics"),
            names(&largest, 5),
        );
        (phrase, explanation)
    }

    fn broke(&self, finding: &Finding) -> (String, String) {
        let Some(guard) = self.numbers.breaks else { return (String::new(), String::new()) };
        let cases = counted(guard.breaks, "stable case", "stable cases");
        let phrase = format!("{cases} broke on {} ({:.1} expected by luck)", self.name, guard.expected);
        let ids: Vec<&str> = finding.named.iter().map(|(id, _)| &**id).collect();
        let explanation = format!(
            "{cases} broke on {} (flakiness alone explains about {:.1}). They held in all {} baseline runs and fell far below them \
             now: {}. The average moved by {} points ({}). A count this high happens {}.",
            self.name,
            guard.expected,
            self.runs,
            names(&ids, 10),
            signed_points(self.moved),
            self.scores(),
            odds(guard.p_mid, "unchanged runs"),
        );
        (phrase, explanation)
    }

    /// Suspects are named although they do not fail the build (statistics §7.4).
    fn suspects(&self) -> String {
        match (self.numbers.breaks, self.broken.is_empty()) {
            (Some(guard), false) => format!(
                " {} broke, {:.1} expected from flakiness: {}.",
                counted(guard.breaks, "stable case", "stable cases"),
                guard.expected,
                names(&self.broken, 5)
            ),
            _ => String::new(),
        }
    }

    fn not_worse(&self, improved: bool) -> (String, String) {
        let lower = self.estimate.interval.map_or(-1.0, |(lower, _)| lower);
        let better = if improved { " It is credibly better than before." } else { "" };
        let explanation = format!(
            "{} is not worse: {} points (at worst {}), inside the {}-point margin ({}). {}, {} each.{better}{}",
            self.name,
            signed_points(self.moved),
            signed_points(lower),
            points(self.margin),
            self.scores(),
            self.cases(),
            counted(u64::from(self.estimate.trials), "trial", "trials"),
            self.suspects(),
        );
        (format!("{} is not worse", self.name), explanation)
    }

    fn small_drop(&self) -> (String, String) {
        let phrase = format!("{} dropped a little, {} points, inside the margin", self.name, points(self.moved));
        let explanation = format!(
            "{} dropped a little, really: {} points ({}{}). That is inside the {}-point margin, so it does not fail the build; \
             many such drops add up.{}",
            self.name,
            signed_points(self.moved),
            self.scores(),
            self.likely(""),
            points(self.margin),
            self.suspects(),
        );
        (phrase, explanation)
    }

    /// What would settle a drop of the margin.
    fn remedy(&self) -> String {
        let Some(deviation) = self.estimate.deviation else { return "more cases".to_owned() };
        let needed =
            cases_needed(deviation, self.margin, self.level).max(smallest_certifying_n(self.margin, self.alpha));
        let more = needed.saturating_sub(self.estimate.units);
        let mut ways = Vec::new();
        if more > 0 {
            ways.push(format!("about {} more", counted(more, "case", "cases")));
        }
        if let Some(trials) = self.more_trials(deviation) {
            ways.push(format!("{} more a case", counted(u64::from(trials), "trial", "trials")));
        }
        match self.more_runs(deviation) {
            Some(runs) => ways.push(format!("{} more", counted(runs as u64, "baseline run", "baseline runs"))),
            None if self.runs < 5 && self.within.is_none() => ways.push("more baseline runs".to_owned()),
            None => {}
        }
        if ways.is_empty() {
            ways.push("a wider margin".to_owned());
        }
        ways.join(", or ")
    }

    fn more_trials(&self, deviation: f64) -> Option<u32> {
        let (within, candidate, baseline) = self.within?;
        let parts = variance_parts(deviation, within, candidate, baseline);
        let needed = trials_needed(parts, within, baseline, self.estimate.units, self.margin, self.level)?;
        // Below the smallest number of cases no number of trials can vouch for the margin.
        let enough = self.estimate.units >= smallest_certifying_n(self.margin, self.alpha);
        needed.checked_sub(candidate as u32).filter(|more| *more > 0 && enough)
    }

    /// How many more runs in the pool would do (statistics §21), up to the ten that it holds.
    fn more_runs(&self, deviation: f64) -> Option<usize> {
        let (within, candidate, baseline) = self.within?;
        let (_, between) = variance_parts(deviation, within, candidate, baseline);
        let each = baseline / self.runs.max(1) as f64;
        let enough = self.estimate.units >= smallest_certifying_n(self.margin, self.alpha);
        let seen = |runs: &usize| {
            let deviation = deviation_with(between, within, candidate, each * *runs as f64);
            detectable_drop(deviation, self.estimate.units, self.level) <= self.margin + 1e-12
        };
        let needed = (self.runs + 1..=MOST_RUNS).find(seen).filter(|_| enough)?;
        needed.checked_sub(self.runs)
    }

    fn suspicious(&self) -> (String, String) {
        let moved = signed_points(self.moved);
        let phrase = format!("not enough evidence on {} ({moved} points)", self.name);
        let explanation = format!(
            "{}: not enough evidence. It moved by {moved} points ({}), which happens by luck {}; {}. To settle a {}-point drop: {}.{}",
            self.name,
            self.scores(),
            odds(self.numbers.p_adjusted, "unchanged runs"),
            self.true_change(),
            points(self.margin),
            self.remedy(),
            self.suspects(),
        );
        (phrase, explanation)
    }

    fn no_sign(&self) -> (String, String) {
        let detectable = self.estimate.deviation.map(|sd| detectable_drop(sd, self.estimate.units, self.level));
        let seen = match detectable {
            Some(drop) if drop <= 1.0 => format!("drops of {} points or more", points(drop)),
            Some(_) | None => "no drop at all".to_owned(),
        };
        let phrase = format!("no sign of a drop in {}, and too little to vouch for it", self.name);
        let explanation = format!(
            "{}: no sign of a drop ({} points, {}), but this run could only have seen {seen}. To vouch for {} points: {}.{}",
            self.name,
            signed_points(self.moved),
            self.scores(),
            points(self.margin),
            self.remedy(),
            self.suspects(),
        );
        (phrase, explanation)
    }

    fn too_few(&self) -> (String, String) {
        let units = self.estimate.units;
        let needed = smallest_certifying_n(self.margin, self.alpha);
        let smallest = 1.0 - libm::pow(self.alpha, 1.0 / units.max(1) as f64);
        let what = if units == self.estimate.cases { "case" } else { "cluster" };
        let enough = counted(units, what, &format!("{what}s"));
        let phrase = format!("{enough} cannot vouch for {}", self.name);
        let better = if self.moved > 0.0 { ", improved" } else { "" };
        let explanation = format!(
            "{}: {enough} cannot vouch for a {}-point margin (at least {needed} are needed). It moved by {} points ({}{better}). \
             Add cases or widen the margin to {:.2}.{}",
            self.name,
            points(self.margin),
            signed_points(self.moved),
            self.scores(),
            (smallest * 100.0).ceil() / 100.0,
            self.suspects(),
        );
        (phrase, explanation)
    }

    fn identical(&self) -> (String, String) {
        let text = format!("{}: every one of {} scored exactly as before", self.name, self.cases());
        (text.clone(), format!("{text} ({}).", score(self.estimate.current.value())))
    }

    fn missing(&self, compared: &Compared<'_>) -> (String, String) {
        let (missing, of) = compared.matchup.as_ref().map_or((0, 0), |all| (all.missing(), all.joints.len()));
        let phrase =
            format!("{}: {missing} of {of} cases have no usable score, and they could change the verdict", self.name);
        let explanation = format!(
            "{} cannot be judged: {missing} of {of} cases have no usable score on one of the two sides. Counting them one way or \
             the other would flip the verdict ({} points without them).",
            self.name,
            signed_points(self.moved),
        );
        (phrase, explanation)
    }
}
