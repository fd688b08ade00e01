//! `scoregate judge calibrate LABELS [RESULTS]`: a judge beside people's labels.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use super::{NAME, SCHEMA};
use crate::cli::args::{CalibrateArgs, StatsFormat};
use crate::cli::ending::Ending;
use crate::cli::exit_code::ExitCode;
use crate::cli::failure::Failed;
use crate::cli::{levels, screen};
use crate::domain::{CaseId, Cell, Direction, Env, Fingerprint, MetricSpec, Run, ScoreKind};
use crate::gate::{unit, value_passes};
use crate::peer::{Wanted, read_runs};
use crate::report::escape::terminal;
use crate::stats::{Confusion, Corrected, JudgeRates, Ratio, prediction_powered_mean, rogan_gladen, wilson};
use crate::store::StoreError;
use crate::text::number::{self, NONE, counted};

/// A share that is the required one but for its last digits is the required one.
const ROUNDING: f64 = 1e-12;
/// Each side of a 95 % interval.
const SIDE: f64 = 0.025;

pub(super) fn execute(args: &CalibrateArgs, env: &Env) -> Result<Ending, Failed> {
    let shares = [("--min-accuracy", args.min_accuracy, 0.0), ("--min-kappa", args.min_kappa, -1.0)];
    if let Some((flag, ..)) =
        shares.iter().find(|(_, value, low)| value.is_some_and(|value| !(*low..=1.0).contains(&value)))
    {
        return Err(Failed::usage("out-of-range", format!("{flag} is out of its range"), "it is at most 1"));
    }
    let compared = Compared::read(args, env)?;
    match args.format {
        StatsFormat::Human => screen::out(&compared.shown()),
        StatsFormat::Json => screen::data(&format!("{:#}\n", compared.json())),
    }
    Ok(compared.ending(args))
}

/// A judge's word on one output.
#[derive(Clone, Copy)]
struct Judged {
    /// Unit scale.
    level: f64,
    passed: bool,
}

/// Labels and the judge's scores, side by side.
struct Compared {
    metric: String,
    /// Labels are pass and fail.
    binary: bool,
    confusion: Confusion,
    /// (label, judge's level) on the unit scale.
    pairs: Vec<(f64, f64)>,
    /// The judge's levels, and passes, of outputs without a label.
    unlabelled: Vec<Judged>,
    passes: u64,
    judged: u64,
    /// Labels whose case the judge has no score of.
    lost: u64,
    /// Of the judge, where the results say it.
    fingerprint: Option<Fingerprint>,
}

/// The first trial's score of each case.
fn first_scores(run: &Run, metric: &str, path: &Path) -> Result<BTreeMap<CaseId, (f64, Option<bool>)>, Failed> {
    let Some(at) = run.metric_index(metric) else {
        let names: Vec<&str> = run.header.metrics.iter().map(|spec| &*spec.name).collect();
        let message = format!("{} has no scores of `{metric}`; it has {}", path.display(), names.join(", "));
        return Err(Failed::usage(
            "unknown-metric",
            message,
            "name the judge's metric with `--metric`, the labels' column with `--label`",
        ));
    };
    let mut scores = BTreeMap::new();
    for case in &run.cases {
        let first = case.trials.iter().min_by_key(|trial| trial.trial);
        let Some(Cell::Value { value, passed }) = first.and_then(|trial| trial.cells.get(at).copied().flatten()) else {
            continue;
        };
        if scores.insert(case.id.clone(), (value, passed)).is_some() {
            let message = format!("{} holds several targets, and a label is of one answer", path.display());
            return Err(Failed::usage("several-targets", message, "keep the lines of one target"));
        }
    }
    Ok(scores)
}

fn runs(path: &Path, declared: &[MetricSpec]) -> Result<Vec<Run>, Failed> {
    read_runs(path, declared, Wanted::default()).map_err(|error| match error {
        StoreError::Corrupt { .. } => Failed::usage("bad-results", error.to_string(), "see docs/judges.md"),
        error => error.into(),
    })
}

impl Compared {
    fn read(args: &CalibrateArgs, env: &Env) -> Result<Self, Failed> {
        let policy = levels::policy(args.suite.as_deref(), env)?;
        let mut declared = policy.declared();
        // Labels may be on any scale before the metric's is known.
        let any = ScoreKind::Continuous { lo: -1e12, hi: 1e12 };
        let direction = Direction::Higher;
        declared.push(MetricSpec {
            name: args.label.as_str().into(),
            kind: any,
            direction,
            pass_mark: None,
            fingerprint: None,
        });
        let labels = one_run(runs(&args.labels, &declared)?, args.run.as_deref(), &args.labels)?;
        let judging = match &args.results {
            Some(path) => one_run(runs(path, &policy.declared())?, None, path)?,
            None => labels.clone(),
        };
        let place = args.results.as_deref().unwrap_or(&args.labels);
        let scores = first_scores(&judging, &args.metric, place)?;
        let spec = judging.header.metrics.iter().find(|spec| *spec.name == *args.metric).cloned();
        let spec = spec.ok_or_else(|| Failed::CouldNot("the metric is gone".to_owned()))?;
        let spec = policy.metric(&args.metric).apply(spec);
        let labels = first_scores(&labels, &args.label, &args.labels)?;
        let labels: BTreeMap<CaseId, f64> = labels.into_iter().map(|(case, (label, _))| (case, label)).collect();
        Self::of(&args.metric, &spec, &labels, &scores)
    }

    fn of(
        metric: &str,
        spec: &MetricSpec,
        labels: &BTreeMap<CaseId, f64>,
        scores: &BTreeMap<CaseId, (f64, Option<bool>)>,
    ) -> Result<Self, Failed> {
        let binary = labels.values().all(|label| *label == 0.0 || *label == 1.0);
        if let Some((case, label)) = labels.iter().find(|(_, label)| !binary && !spec.kind.admits(**label)) {
            let (lo, hi) = spec.kind.range();
            let message = format!("the label of case `{case}` is {label}, and `{metric}` is from {lo} to {hi}");
            return Err(Failed::usage("bad-label", message, "labels are 0 and 1, or on the scale of the metric"));
        }
        let judged = |value: f64, said: Option<bool>| {
            let passed = Ratio::decimal(value).is_some_and(|ratio| value_passes(ratio, said, spec));
            Judged { level: unit(spec, value), passed }
        };
        let all: BTreeMap<&CaseId, Judged> =
            scores.iter().map(|(case, (value, said))| (case, judged(*value, *said))).collect();
        let mut found = Self {
            metric: metric.to_owned(),
            binary,
            confusion: Confusion::default(),
            pairs: Vec::new(),
            unlabelled: all.iter().filter(|(case, _)| !labels.contains_key(**case)).map(|(_, one)| *one).collect(),
            passes: all.values().filter(|one| one.passed).count() as u64,
            judged: all.len() as u64,
            lost: labels.keys().filter(|case| !all.contains_key(case)).count() as u64,
            fingerprint: spec.fingerprint.clone(),
        };
        for (case, label) in labels {
            let Some(judge) = all.get(case) else { continue };
            let (level, passed) = if binary {
                (*label, *label == 1.0)
            } else {
                (unit(spec, *label), Ratio::decimal(*label).is_some_and(|ratio| value_passes(ratio, None, spec)))
            };
            found.confusion.see(passed, judge.passed);
            found.pairs.push((level, judge.level));
        }
        if found.pairs.is_empty() {
            let why = "no labelled case has a score of the judge: are the ids the same in both files?";
            return Err(Failed::CouldNot(why.to_owned()));
        }
        Ok(found)
    }

    fn rates(&self) -> JudgeRates {
        let Confusion { both, judge_only, people_only, neither } = self.confusion;
        let (good, bad) = (both + people_only, judge_only + neither);
        let share = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
        JudgeRates { sensitivity: share(both, good), good, specificity: share(neither, bad), bad }
    }

    fn pass_rate(&self) -> f64 {
        self.passes as f64 / self.judged.max(1) as f64
    }

    fn corrected(&self) -> Option<Corrected> {
        rogan_gladen(self.pass_rate(), self.judged, self.rates(), SIDE)
    }

    /// The mean level, by labels and judge together.
    fn powered(&self) -> Option<(Corrected, f64)> {
        let (labels, scores): (Vec<f64>, Vec<f64>) = self.pairs.iter().copied().unzip();
        let unlabelled: Vec<f64> = self.unlabelled.iter().map(|one| one.level).collect();
        prediction_powered_mean(&labels, &scores, &unlabelled, SIDE)
    }

    /// Mean of judge − label, and of its size.
    fn bias(&self) -> (f64, f64) {
        let differences: Vec<f64> = self.pairs.iter().map(|(label, judge)| judge - label).collect();
        let sizes: Vec<f64> = differences.iter().map(|one| one.abs()).collect();
        (levels::mean(&differences).unwrap_or_default(), levels::mean(&sizes).unwrap_or_default())
    }

    fn shown(&self) -> String {
        let Confusion { both, judge_only, people_only, neither } = self.confusion;
        let labelled = counted(self.pairs.len() as u64, "labelled case", "labelled cases");
        let mut text =
            format!("{}: {labelled}, {} judged in all\n", terminal(&self.metric, NAME), number::count(self.judged));
        if self.lost > 0 {
            let lost = counted(self.lost, "label has", "labels have");
            let _ = writeln!(text, "  {lost} no score of the judge, and say nothing here");
        }
        let show = |value: Option<f64>| value.map_or_else(|| NONE.to_owned(), number::score);
        let (low, high) = self.accuracy_interval();
        let _ = writeln!(
            text,
            "  accuracy   {}, likely between {} and {}",
            show(self.confusion.accuracy()),
            number::score(low),
            number::score(high)
        );
        let _ = writeln!(text, "  kappa      {} ({})", show(self.confusion.kappa()), strength(self.confusion.kappa()));
        let _ = writeln!(text, "                  judge passes  judge fails");
        let _ = writeln!(text, "  people pass     {both:>12}  {people_only:>11}");
        let _ = writeln!(text, "  people fail     {judge_only:>12}  {neither:>11}");
        let (bias, size) = self.bias();
        if !self.binary {
            let _ = writeln!(
                text,
                "  the judge is {} points off on average, {} points to one side",
                number::points(size),
                number::signed_points(bias)
            );
        }
        let level = |corrected: &Corrected| {
            let Corrected { level, lower, upper, standard_error: _ } = corrected;
            format!(
                "{}, likely between {} and {}",
                number::score(*level),
                number::score(lower.max(0.0)),
                number::score(upper.min(1.0))
            )
        };
        match self.corrected() {
            Some(corrected) => {
                let _ = writeln!(
                    text,
                    "  pass rate  {} as judged; corrected for the judge's errors {}",
                    number::score(self.pass_rate()),
                    level(&corrected)
                );
                let _ = writeln!(
                    text,
                    "  for the gate    pass_rate: {{ min: …, calibration: {{ both_pass: {both}, judge_only: {judge_only}, people_only: {people_only}, both_fail: {neither} }} }}"
                );
            }
            None => {
                let _ = writeln!(
                    text,
                    "  pass rate  {} as judged; it cannot be corrected: on the labelled cases the judge tells good from bad no better than chance, or one kind is not there",
                    number::score(self.pass_rate())
                );
            }
        }
        if let Some((corrected, lambda)) = self.powered() {
            let _ = writeln!(
                text,
                "  mean level {} (0 to 1), by labels and judge together; the judge counts for {lambda:.2}",
                level(&corrected)
            );
        }
        text
    }

    fn accuracy_interval(&self) -> (f64, f64) {
        wilson(self.confusion.agreed(), self.confusion.total(), SIDE)
    }

    fn json(&self) -> Value {
        let Confusion { both, judge_only, people_only, neither } = self.confusion;
        let rates = self.rates();
        let level = |corrected: Corrected| json!({"level": corrected.level, "se": corrected.standard_error, "ci": [corrected.lower, corrected.upper]});
        let (low, high) = self.accuracy_interval();
        let (bias, size) = self.bias();
        let powered = self.powered().map(|(corrected, lambda)| {
            let mut value = level(corrected);
            value["lambda"] = lambda.into();
            value
        });
        json!({
            "schema": SCHEMA, "metric": self.metric, "labelled": self.pairs.len(), "judged": self.judged, "labels_without_score": self.lost,
            "binary": self.binary, "accuracy": self.confusion.accuracy(), "accuracy_ci": [low, high], "kappa": self.confusion.kappa(),
            "confusion": {"both_pass": both, "judge_only": judge_only, "people_only": people_only, "both_fail": neither},
            "sensitivity": rates.sensitivity, "specificity": rates.specificity, "bias": bias, "mean_absolute_difference": size,
            "fingerprint": self.fingerprint, "pass_rate": self.pass_rate(), "corrected": self.corrected().map(level), "prediction_powered": powered,
        })
    }

    fn ending(&self, args: &CalibrateArgs) -> Ending {
        let kappa = self.confusion.kappa();
        let asked = [("kappa", args.min_kappa, kappa), ("accuracy", args.min_accuracy, self.confusion.accuracy())];
        for (name, least, found) in asked {
            match (least, found) {
                (Some(least), Some(found)) if found + ROUNDING < least => {
                    let reason =
                        format!("the judge's {name} is {}, below the required {least}", number::beside(found, least));
                    return Ending::because(ExitCode::Failed, reason);
                }
                (Some(_), None) => {
                    let reason = format!("{name} is not known: all labelled cases are of one kind");
                    return Ending::because(ExitCode::NotEvaluated, reason);
                }
                (Some(_) | None, _) => {}
            }
        }
        Ending::printed()
    }
}

/// Words of J. R. Landis and G. G. Koch, Biometrics 33 (1977).
fn strength(kappa: Option<f64>) -> &'static str {
    match kappa {
        None => "not known: all labelled cases are of one kind",
        Some(kappa) if kappa > 0.8 => "almost perfect agreement",
        Some(kappa) if kappa > 0.6 => "substantial agreement",
        Some(kappa) if kappa > 0.4 => "moderate agreement",
        Some(kappa) if kappa > 0.2 => "fair agreement",
        Some(kappa) if kappa > 0.0 => "slight agreement",
        Some(_) => "no agreement beyond chance",
    }
}

fn one_run(mut runs: Vec<Run>, wanted: Option<&str>, path: &Path) -> Result<Run, Failed> {
    if let Some(wanted) = wanted {
        runs.retain(|run| run.header.id == wanted);
    }
    let names: Vec<String> = runs.iter().map(|run| run.header.id.clone()).collect();
    match (runs.pop(), runs.is_empty()) {
        (Some(run), true) => Ok(run),
        (None, _) => {
            let message = format!("{} has no run `{}`", path.display(), wanted.unwrap_or_default());
            Err(Failed::usage("unknown-run", message, "name one of the column `run`"))
        }
        (Some(_), false) => {
            let message = format!("{} holds several runs: {}", path.display(), names.join(", "));
            Err(Failed::usage("several-runs", message, "choose one with `--run`"))
        }
    }
}
