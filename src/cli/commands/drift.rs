//! `scoregate drift`: where in a row of runs did a level change? (statistics §16)

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::cli::args::{DriftArgs, StatsFormat};
use crate::cli::ending::Ending;
use crate::cli::exit_code::ExitCode;
use crate::cli::failure::Failed;
use crate::cli::levels::{self, Key, StoredRun};
use crate::cli::{alarm, screen};
use crate::domain::{CaseId, Env, MetricSpec};
use crate::gate::{Policy, variance_floor};
use crate::peer::Wanted;
use crate::report::escape::terminal;
use crate::stats::{CaseMean, ChangePoint, Differences, Pair, change_points, differences, mean_interval, sign_flip};
use crate::text::number::{self, counted};

/// Version of the JSON.
const SCHEMA: u32 = 1;
/// Runs below which nothing can be found (statistics §16.1).
const FEWEST: usize = 6;
/// The level of the comparison with the anchor (statistics §16.2).
const ANCHOR_ALPHA: f64 = 0.01;
/// Characters of a name, and of a commit.
const NAME: usize = 200;
const COMMIT: usize = 10;

pub(in crate::cli) fn execute(args: &DriftArgs, env: &Env) -> Result<Ending, Failed> {
    if !(args.alpha > 0.0 && args.alpha < 0.5) || args.min_effect.is_some_and(|points| !(0.0..=100.0).contains(&points))
    {
        let help = "--alpha is above 0 and below 0.5, --min-effect in points from 0 to 100";
        return Err(Failed::usage("out-of-range", "a number is out of its range", help));
    }
    let policy = levels::policy(args.suite.as_deref(), env)?;
    let wanted = Wanted { from: args.from.as_deref(), metrics: &args.metric };
    let mut runs = Vec::new();
    for file in &args.files {
        runs.extend(levels::stored(file, &policy, wanted)?);
    }
    let sorted = in_time(&mut runs);
    let anchor = match &args.anchor {
        Some(path) => levels::stored(path, &policy, wanted)?,
        None => Vec::new(),
    };
    let keys = levels::keys(&runs);
    let series: Vec<Series> = keys
        .iter()
        .filter_map(|key| Series::of(&runs, &anchor, key, levels::label(key, &keys), args, &policy))
        .collect();
    match args.format {
        StatsFormat::Human => screen::out(&shown(&runs, &series, sorted)),
        StatsFormat::Json => screen::data(&format!("{:#}\n", json(&runs, &series))),
    }
    let ending = ending(&runs, &series, args.fail);
    if let Some(suite) = &args.suite {
        alarm::drift(suite, &ending, series.iter().any(Series::worsened), env);
    }
    Ok(ending)
}

/// By date, then id, where every run says one.
fn in_time(runs: &mut [StoredRun]) -> bool {
    let stamp = |run: &StoredRun| {
        let date = run.date.as_deref()?;
        date.parse::<jiff::Timestamp>().ok().or_else(|| {
            let civil = date.parse::<jiff::civil::DateTime>().ok()?;
            civil.to_zoned(jiff::tz::TimeZone::UTC).ok().map(|zoned| zoned.timestamp())
        })
    };
    let dated = runs.iter().all(|run| stamp(run).is_some());
    if dated {
        runs.sort_by(|left, right| stamp(left).cmp(&stamp(right)).then_with(|| left.id.cmp(&right.id)));
    }
    dated
}

/// One metric of one target through time.
struct Series {
    label: String,
    /// Positions of the runs that have it.
    runs: Vec<usize>,
    /// Cases that every one of them has.
    cases: u64,
    /// Not all the same cases: means of what each run has.
    mixed: bool,
    /// Unit scale, oldest first.
    means: Vec<f64>,
    changes: Vec<ChangePoint>,
    anchor: Option<Anchor>,
}

/// The newest run beside the anchor.
struct Anchor {
    id: String,
    cases: u64,
    delta: f64,
    interval: Option<(f64, f64)>,
    p: f64,
    worse: bool,
}

impl Series {
    fn of(
        runs: &[StoredRun],
        anchor: &[StoredRun],
        key: &Key,
        label: String,
        args: &DriftArgs,
        policy: &Policy,
    ) -> Option<Self> {
        let having: Vec<usize> =
            runs.iter().enumerate().filter(|(_, run)| run.scores.contains_key(key)).map(|(at, _)| at).collect();
        let of_run = |at: &usize| runs.get(*at).and_then(|run| run.scores.get(key));
        let common = having.iter().filter_map(of_run).map(|cases| cases.keys().collect::<BTreeSet<&CaseId>>());
        let common = common.reduce(|left, right| left.intersection(&right).copied().collect())?;
        let most = having.iter().filter_map(of_run).map(|cases| cases.len()).max().unwrap_or(0);
        // Logs of another day hold other questions.
        let mixed = common.len() * 2 < most;
        let mean_of = |at: &usize| {
            let cases = of_run(at)?.iter().filter(|(case, _)| mixed || common.contains(case));
            let means: Vec<f64> = cases.filter_map(|(_, scores)| levels::mean(scores)).collect();
            levels::mean(&means)
        };
        let means: Vec<f64> = having.iter().filter_map(mean_of).collect();
        let least = args.min_effect.map_or_else(|| policy.metric(&key.0).margin / 2.0, |points| points / 100.0);
        let newest = having.last().and_then(|at| runs.get(*at));
        let spec = levels::spec(runs, &key.0)?;
        Some(Self {
            label,
            cases: common.len() as u64,
            mixed,
            changes: change_points(&means, args.alpha, least),
            means,
            anchor: newest.and_then(|newest| Anchor::of(newest, anchor, key, &spec)),
            runs: having,
        })
    }

    /// The levels before and after a change, each between its neighbouring changes.
    fn levels(&self, at: usize) -> (f64, f64) {
        let start = at.checked_sub(1).and_then(|before| self.changes.get(before)).map_or(0, |change| change.index);
        let middle = self.changes.get(at).map_or(0, |change| change.index);
        let end = self.changes.get(at + 1).map_or(self.means.len(), |change| change.index);
        let level = |from: usize, to: usize| levels::mean(self.means.get(from..to).unwrap_or_default());
        (level(start, middle).unwrap_or_default(), level(middle, end).unwrap_or_default())
    }

    fn worsened(&self) -> bool {
        self.fell() || self.anchor.as_ref().is_some_and(|anchor| anchor.worse)
    }

    fn fell(&self) -> bool {
        self.changes.iter().any(|change| change.difference < 0.0)
    }
}

impl Anchor {
    fn of(newest: &StoredRun, anchor: &[StoredRun], key: &Key, spec: &MetricSpec) -> Option<Self> {
        let mut before: std::collections::BTreeMap<&CaseId, Vec<f64>> = std::collections::BTreeMap::new();
        for (case, scores) in anchor.iter().filter_map(|run| run.scores.get(key)).flatten() {
            before.entry(case).or_default().extend(scores);
        }
        let pair = |(case, scores): (&CaseId, &Vec<f64>)| {
            let baseline = CaseMean::of(before.get(case)?)?;
            Some(Pair { candidate: CaseMean::of(scores)?, baseline, cluster: None })
        };
        let pairs: Vec<Pair> = newest.scores.get(key)?.iter().filter_map(pair).collect();
        let (first, last) = Differences::means(&pairs)?;
        // Scores are on the unit scale already, where more is better.
        let found = differences(&pairs, 1.0, false)?;
        let p = sign_flip(&found.integers).p_mid;
        let trials = pairs.iter().map(|pair| pair.candidate.trials()).max().unwrap_or(1);
        let floor = variance_floor(spec.kind.steps(), trials, found.units.len(), pairs.len());
        let delta = last.minus(first)?.value();
        Some(Self {
            id: anchor.first().map_or_else(String::new, |run| run.id.clone()),
            cases: pairs.len() as u64,
            delta,
            interval: mean_interval(&found.units, floor, ANCHOR_ALPHA, 0.0, (-1.0, 1.0)),
            p,
            worse: p <= ANCHOR_ALPHA && delta < 0.0,
        })
    }
}

fn ending(runs: &[StoredRun], series: &[Series], fail: bool) -> Ending {
    let fell: Vec<&str> = series.iter().filter(|one| one.fell()).map(|one| one.label.as_str()).collect();
    let slid = |one: &&Series| one.anchor.as_ref().is_some_and(|anchor| anchor.worse);
    let slid: Vec<&str> = series.iter().filter(slid).map(|one| one.label.as_str()).collect();
    let reason = match (fell.as_slice(), slid.as_slice()) {
        ([], []) if runs.len() < FEWEST || series.is_empty() => {
            let reason = format!(
                "{} can show no drift: at least {FEWEST} are needed",
                counted(runs.len() as u64, "run", "runs")
            );
            // Without evidence nothing that was to be decided is green.
            return Ending::because(if fail { ExitCode::NotEvaluated } else { ExitCode::Passed }, reason);
        }
        ([], []) => return Ending::because(ExitCode::Passed, "no level fell"),
        ([], slid) => format!("worse than the anchor: {}", slid.join(", ")),
        (fell, []) => format!("the level fell: {}", fell.join(", ")),
        (fell, slid) => format!("the level fell: {}; worse than the anchor: {}", fell.join(", "), slid.join(", ")),
    };
    Ending::because(if fail { ExitCode::Failed } else { ExitCode::Passed }, reason)
}

/// A run as people find it again.
fn name_of(run: &StoredRun) -> String {
    let commit =
        run.commit.as_deref().map(|commit| format!("commit {}", commit.chars().take(COMMIT).collect::<String>()));
    let date = run.date.as_deref().map(|date| date.chars().take(16).collect::<String>().replace('T', " "));
    let parts: Vec<String> = commit.into_iter().chain(date).collect();
    let id = terminal(&run.id, NAME);
    if parts.is_empty() { id } else { format!("{id} ({})", terminal(&parts.join(", "), NAME)) }
}

fn shown(runs: &[StoredRun], series: &[Series], sorted: bool) -> String {
    let mut text = counted(runs.len() as u64, "run", "runs");
    if let (Some(first), Some(last)) = (runs.first(), runs.last()) {
        let _ = write!(text, ", from {} to {}", name_of(first), name_of(last));
    }
    text.push_str(if sorted { "\n" } else { ", in the order of the files: not every run says its date\n" });
    for one in series {
        let over =
            if one.mixed { "other cases from run to run".to_owned() } else { counted(one.cases, "case", "cases") };
        let _ = writeln!(text, "\n{} ({over})", terminal(&one.label, NAME));
        for (at, change) in one.changes.iter().enumerate() {
            let (before, after) = one.levels(at);
            let run = one.runs.get(change.index).and_then(|run| runs.get(*run));
            let what = if change.difference < 0.0 { "fell" } else { "rose" };
            let _ = writeln!(
                text,
                "  {what} by {} points, {} on the 0 to 1 scale, from run {} on (p {})",
                number::points(after - before),
                number::pair(before, after),
                run.map_or_else(String::new, name_of),
                number::exact((change.p * 1e4).round() / 1e4),
            );
        }
        if one.means.len() < FEWEST {
            let _ = writeln!(text, "  {} of {FEWEST} runs that it takes to find a change", one.means.len());
        } else if one.changes.is_empty() {
            let range =
                one.means.iter().fold((1.0_f64, 0.0_f64), |(low, high), mean| (low.min(*mean), high.max(*mean)));
            let _ = writeln!(
                text,
                "  no change; the means lie from {} to {}",
                number::score(range.0),
                number::score(range.1)
            );
        }
        if let Some(anchor) = &one.anchor {
            let word = if anchor.worse { "WORSE than" } else { "not worse than" };
            let (id, moved) = (terminal(&anchor.id, NAME), number::signed_points(anchor.delta));
            let between = anchor.interval.map_or_else(String::new, |(low, high)| {
                format!(", likely between {} and {}", number::signed_points(low), number::signed_points(high))
            });
            let _ = writeln!(text, "  {word} the anchor {id}: {moved} points{between}");
        }
    }
    text
}

fn json(runs: &[StoredRun], series: &[Series]) -> Value {
    let about = |run: &StoredRun| json!({"id": run.id, "commit": run.commit, "date": run.date});
    let one = |one: &Series| {
        let change = |(at, change): (usize, &ChangePoint)| {
            let (before, after) = one.levels(at);
            let run = one.runs.get(change.index).and_then(|run| runs.get(*run)).map(about);
            let p = change.p;
            json!({"index": change.index, "run": run, "before": before, "after": after, "difference": after - before, "p": p})
        };
        let anchor = one.anchor.as_ref().map(|anchor| {
            let ci = anchor.interval.map(|(low, high)| [low, high]);
            json!({"id": anchor.id, "cases": anchor.cases, "delta": anchor.delta, "ci": ci, "p": anchor.p, "worse": anchor.worse})
        });
        json!({
            "metric": one.label, "cases": one.cases, "same_cases": !one.mixed, "runs": one.runs, "means": one.means,
            "changes": one.changes.iter().enumerate().map(change).collect::<Vec<Value>>(), "anchor": anchor,
        })
    };
    json!({
        "schema": SCHEMA, "runs": runs.iter().map(about).collect::<Vec<Value>>(),
        "series": series.iter().map(one).collect::<Vec<Value>>(),
    })
}
