//! `scoregate power`: what it takes to see a drop, before anything is paid (statistics §17).

use std::fmt::Write as _;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use serde_json::{Value, json};

use crate::cli::args::{PowerArgs, StatsFormat};
use crate::cli::ending::Ending;
use crate::cli::failure::Failed;
use crate::cli::levels::{self, Key, StoredRun};
use crate::cli::screen;
use crate::domain::Env;
use crate::gate::{Policy, variance_floor};
use crate::peer::Wanted;
use crate::report::escape::terminal;
use crate::stats::{
    binary_power, cases_needed, detectable_drop, normal_cdf, normal_quantile, smallest_certifying_n, spread,
    trials_needed, variance_parts,
};
use crate::text::number::{self, NONE, counted};

/// Version of the JSON.
const SCHEMA: u32 = 1;
/// Points that are looked at where none is asked for.
const DROPS: [f64; 5] = [1.0, 2.0, 3.0, 5.0, 10.0];
/// Runs of a baseline at most (statistics §15.1).
const MOST_RUNS: u32 = 10;
/// Cases and runs that are planned with where nothing says it.
const CASES: u64 = 200;
const RUNS: u32 = 5;
/// Characters of a name.
const NAME: usize = 200;

pub(in crate::cli) fn execute(args: &PowerArgs, env: &Env) -> Result<Ending, Failed> {
    check(args)?;
    let policy = levels::policy(args.suite.as_deref(), env)?;
    let noises = match &args.file {
        Some(file) => {
            let wanted = Wanted { from: args.from.as_deref(), metrics: &args.metric };
            of_runs(&levels::stored(file, &policy, wanted)?)
        }
        None => vec![stated(args)],
    };
    if noises.is_empty() {
        return Err(Failed::CouldNot("the file holds no score, so nothing can be planned with it".to_owned()));
    }
    let family = args.metrics.unwrap_or_else(|| u32::try_from(noises.len()).unwrap_or(u32::MAX)).max(1);
    let plans: Vec<Plan> = noises.into_iter().map(|noise| Plan::of(noise, args, &policy, family)).collect();
    match args.format {
        StatsFormat::Human => screen::out(&shown(&plans)),
        StatsFormat::Json => screen::data(&format!("{:#}\n", json(&plans))),
    }
    Ok(Ending::printed())
}

fn check(args: &PowerArgs) -> Result<(), Failed> {
    let wrong = |flag: &str, what: &str| {
        Err(Failed::usage("out-of-range", format!("{flag} {what}"), "see `scoregate power --help`"))
    };
    if args.sd.is_some_and(|sd| !(sd > 0.0 && sd <= 1.0)) {
        return wrong("--sd", "must be above 0 and at most 1");
    }
    if args.flip.is_some_and(|flip| !(flip > 0.0 && flip <= 0.5)) {
        return wrong("--flip", "must be above 0 and at most 0.5");
    }
    if args.drop.iter().any(|drop| !(*drop > 0.0 && *drop < 100.0)) {
        return wrong("--drop", "is in points, above 0 and below 100");
    }
    if args.trials == 0 || args.cases == Some(0) || args.runs == Some(0) {
        return wrong("--trials, --cases and --runs", "must be at least 1");
    }
    Ok(())
}

/// How much a metric's scores vary, unit scale.
struct Noise {
    label: String,
    metric: String,
    cases: u64,
    runs: u32,
    /// Trials of a case in a run of the baseline.
    trials: f64,
    /// σ²_w: the variance of single scores within a case; `None`: not known, and more trials cannot be planned.
    within: Option<f64>,
    /// The variance of changes that more trials do not take away.
    between: f64,
    /// Scores are 0 or 1.
    binary: bool,
    /// Where the numbers are a bound or an assumption, what it is.
    note: Option<String>,
}

fn stated(args: &PowerArgs) -> Noise {
    let noise = Noise {
        label: "stated".to_owned(),
        metric: String::new(),
        cases: CASES,
        runs: RUNS,
        trials: 1.0,
        within: None,
        between: 0.0,
        binary: args.flip.is_some(),
        note: None,
    };
    match (args.sd, args.flip) {
        // Two judgings disagree in 2σ² of the cases (statistics §18.1).
        (None, Some(flip)) => Noise { within: Some(flip / 2.0), ..noise },
        (sd, _) => {
            let sd = sd.unwrap_or_default();
            Noise { between: sd * sd, ..noise }
        }
    }
}

fn of_runs(runs: &[StoredRun]) -> Vec<Noise> {
    let keys = levels::keys(runs);
    keys.iter().filter_map(|key| noise_of(runs, key, levels::label(key, &keys))).collect()
}

fn noise_of(runs: &[StoredRun], key: &Key, label: String) -> Option<Noise> {
    let of_metric: Vec<&StoredRun> = runs.iter().filter(|run| run.scores.contains_key(key)).collect();
    let (newest, earlier) = of_metric.split_last()?;
    let scores = newest.scores.get(key)?;
    let all: Vec<f64> = scores.values().flatten().copied().collect();
    let trials = all.len() as f64 / scores.len().max(1) as f64;
    let steps = levels::spec(runs, &key.0).and_then(|spec| spec.kind.steps());
    let within = levels::within(runs, key);
    let noise = Noise {
        label,
        metric: key.0.to_string(),
        cases: scores.len() as u64,
        runs: u32::try_from(of_metric.len()).unwrap_or(MOST_RUNS),
        trials,
        within,
        between: 0.0,
        binary: steps == Some(1),
        note: None,
    };
    let Some(within) = within else {
        // All that cases differ by is taken for luck: no drop is promised that could not be seen.
        let bound = levels::variance(&all)?;
        let note = "one run of one trial does not tell luck from hard cases: this is an upper bound; a baseline of several runs says more";
        return Some(Noise { within: Some(bound), note: Some(note.to_owned()), ..noise });
    };
    // The newest run against the others shows what is left where luck is averaged away.
    let unit = |case: &crate::domain::CaseId, mine: &Vec<f64>| {
        let before: Vec<f64> =
            earlier.iter().filter_map(|run| run.scores.get(key)?.get(case)).flatten().copied().collect();
        Some(levels::mean(mine)? - levels::mean(&before)?)
    };
    let units: Vec<f64> = scores.iter().filter_map(|(case, mine)| unit(case, mine)).collect();
    let floor = variance_floor(steps, trials.round().max(1.0) as u32, units.len(), units.len());
    let between = spread(&units, floor).map_or(0.0, |deviation| {
        let before = trials * earlier.len() as f64;
        variance_parts(deviation, within, trials, before.max(1.0)).1
    });
    Some(Noise { between, ..noise })
}

/// What a plan sees, and what each drop takes.
struct Plan {
    noise: Noise,
    cases: u64,
    trials: u32,
    runs: u32,
    /// The level of the test for this metric.
    alpha: f64,
    margin: f64,
    deviation: f64,
    drops: Vec<Row>,
}

struct Row {
    /// Unit scale.
    drop: f64,
    /// Chance that this plan sees it.
    chance: f64,
    cases: u64,
    trials: Option<u32>,
    runs: Option<u32>,
    /// By the test's own distribution, not by the normal one.
    exact: bool,
    /// Cases with which "not worse by more than this" can be said at all.
    certifies: u64,
}

impl Plan {
    fn of(noise: Noise, args: &PowerArgs, policy: &Policy, family: u32) -> Self {
        let (cases, runs) = (args.cases.unwrap_or(noise.cases), args.runs.unwrap_or(noise.runs).min(MOST_RUNS));
        // Three runs turn the break guard on, which has a part of alpha (statistics §8.1).
        let mean = if runs >= 3 { policy.alpha - policy.alpha_breaks } else { policy.alpha };
        let alpha = mean / f64::from(family);
        let deviation = noise.deviation(args.trials, runs);
        let points: &[f64] = if args.drop.is_empty() { &DROPS } else { &args.drop };
        let row = |points: &f64| Row::of(points / 100.0, &noise, (cases, args.trials, runs), alpha, policy.alpha);
        Self {
            cases,
            trials: args.trials,
            runs,
            alpha,
            margin: policy.metric(&noise.metric).margin,
            deviation,
            drops: points.iter().map(row).collect(),
            noise,
        }
    }

    /// The drop that is seen in 8 of 10 runs.
    fn detectable(&self) -> f64 {
        detectable_drop(self.deviation, self.cases, self.alpha)
    }
}

impl Noise {
    fn of_baseline(&self, runs: u32) -> f64 {
        self.trials * f64::from(runs)
    }

    fn deviation(&self, trials: u32, runs: u32) -> f64 {
        let luck = self.within.unwrap_or_default() * (1.0 / f64::from(trials) + 1.0 / self.of_baseline(runs));
        (self.between + luck).sqrt()
    }
}

impl Row {
    fn of(drop: f64, noise: &Noise, (cases, trials, runs): (u64, u32, u32), alpha: f64, whole: f64) -> Self {
        let deviation = noise.deviation(trials, runs);
        let chance = if deviation > 0.0 {
            normal_cdf(drop * (cases as f64).sqrt() / deviation - normal_quantile(1.0 - alpha))
        } else {
            1.0
        };
        let binary = noise.binary && trials == 1 && noise.of_baseline(runs) == 1.0 && deviation > 0.0;
        let exact = binary.then(|| Exact::of(drop, deviation, alpha)).filter(|exact| exact.fits(cases));
        let chance = exact.as_ref().map_or(chance, |exact| exact.chance(cases));
        let approximate = cases_needed(deviation, drop, alpha);
        let fewest_trials = noise.within.and_then(|within| {
            trials_needed((0.0, noise.between), within, noise.of_baseline(runs), cases, drop, alpha)
        });
        let enough = |runs: &u32| detectable_drop(noise.deviation(trials, *runs), cases, alpha) <= drop + 1e-12;
        let fewest_runs = noise.within.and_then(|_| (1..=MOST_RUNS).find(enough));
        let certifies = smallest_certifying_n(drop, whole);
        Self {
            drop,
            chance,
            cases: exact.as_ref().map_or(approximate, |exact| exact.cases(approximate)),
            exact: exact.is_some(),
            trials: fewest_trials,
            runs: fewest_runs,
            certifies,
        }
    }
}

/// A binary metric with one trial on either side: the test's own chance to see a drop (statistics §17.4).
struct Exact {
    breaks: f64,
    fixes: f64,
    alpha: f64,
}

/// More cases than this are as good as normal.
const MOST_EXACT: u64 = 20_000;

impl Exact {
    /// Cases break more often than they are fixed by the drop; both together make the variance of the changes.
    fn of(drop: f64, deviation: f64, alpha: f64) -> Self {
        let differ = (deviation * deviation + drop * drop).clamp(drop, 1.0);
        Self { breaks: f64::midpoint(differ, drop), fixes: (differ - drop) / 2.0, alpha }
    }

    fn fits(&self, cases: u64) -> bool {
        cases <= MOST_EXACT
    }

    fn chance(&self, cases: u64) -> f64 {
        binary_power(cases, self.breaks, self.fixes, self.alpha)
    }

    /// The fewest cases, near those of the normal distribution, with which it is 8 in 10 and stays so for the next few.
    fn cases(&self, near: u64) -> u64 {
        const SEEN: f64 = 0.8;
        // Counts are whole, so the chance rises in steps with small falls between.
        const NEXT: u64 = 3;
        if !self.fits(near.saturating_mul(2)) {
            return near;
        }
        let enough = |cases: u64| (cases..cases + NEXT).all(|cases| self.chance(cases) >= SEEN);
        let (mut low, mut high) = (near / 2, near.saturating_mul(2).max(8));
        if !enough(high) {
            return near;
        }
        while low + 1 < high {
            let middle = low + (high - low) / 2;
            if enough(middle) { high = middle } else { low = middle }
        }
        high
    }
}

fn shown(plans: &[Plan]) -> String {
    let mut text = String::new();
    for plan in plans {
        let (cases, runs) =
            (counted(plan.cases, "case", "cases"), counted(plan.runs.into(), "baseline run", "baseline runs"));
        let trials = counted(plan.trials.into(), "trial", "trials");
        let seen = plan.detectable();
        let sees = if seen < 1.0 {
            format!("sees a drop of {} points or more in 8 of 10 runs", number::points(seen))
        } else {
            "sees no drop at all".to_owned()
        };
        let _ = writeln!(text, "{}: {cases}, {trials}, {runs}: {sees}", terminal(&plan.noise.label, NAME));
        if let Some(note) = &plan.noise.note {
            let _ = writeln!(text, "  {note}");
        }
        let mut table = Table::new();
        table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        table.set_header(["  drop", "chance now", "or cases", "or trials", "or baseline runs", "to say \"not worse\""]);
        for row in &plan.drops {
            let maybe = |count: Option<u32>| count.map_or_else(|| NONE.to_owned(), |count| count.to_string());
            table.add_row([
                format!("  {} points", number::margin(row.drop)),
                format!("{:.0}%", row.chance * 100.0),
                number::count(row.cases),
                maybe(row.trials),
                maybe(row.runs),
                format!("{} cases at least", number::count(row.certifies)),
            ]);
        }
        for column in table.column_iter_mut().skip(1).take(4) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        let _ = writeln!(text, "{}\n", table.trim_fmt());
    }
    text.push_str("each count alone gives 8 chances in 10, the others staying as they are; – : it cannot\n");
    text
}

fn json(plans: &[Plan]) -> Value {
    let plans: Vec<Value> = plans
        .iter()
        .map(|plan| {
            let drops: Vec<Value> = plan
                .drops
                .iter()
                .map(|row| {
                    json!({
                        "drop": row.drop, "chance": row.chance, "cases": row.cases, "trials": row.trials,
                        "baseline_runs": row.runs, "cases_to_certify": row.certifies,
                        "method": if row.exact { "exact" } else { "normal" },
                    })
                })
                .collect();
            json!({
                "metric": plan.noise.label, "cases": plan.cases, "trials": plan.trials, "baseline_runs": plan.runs,
                "alpha": plan.alpha, "margin": plan.margin, "sd": plan.deviation, "within_variance": plan.noise.within,
                "between_variance": plan.noise.between, "detectable_drop": plan.detectable(),
                "note": plan.noise.note, "drops": drops,
            })
        })
        .collect();
    json!({"schema": SCHEMA, "power": 0.8, "plans": plans})
}
