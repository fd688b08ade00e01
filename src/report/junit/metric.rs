//! The suite of one target and metric: a test case a case.

use std::collections::HashMap;
use std::io;

use junit_report::{Duration, TestCase, TestResult};

use super::dialect::{Counted, Extra, Totals, cdata};
use super::label::{Labels, Taken};
use super::{Part, Take};
use crate::domain::{BrokenCase, CaseRecord, Cell, FailureKind, Side, SkipReason, TargetName, TrialRecord};
use crate::report::clean::Clean;
use crate::report::escape::{xml_attribute, xml_body};
use crate::report::view::{Shown, View};
use crate::text::number;

const MESSAGE: usize = 300;
const TEXT: usize = 1_000;
const BODY: usize = 6_000;
/// Test cases that are in memory at a time.
const PART: usize = 500;
/// Errors whose texts are read; later ones keep their kind.
const READ: usize = 2_000;

/// What decided, and the texts of it.
pub(super) struct Texts<'v, 'a> {
    view: &'v View<'a>,
    broken: HashMap<(&'v str, &'v str, &'v str), &'v BrokenCase>,
    shown: HashMap<(&'v str, &'v str), &'v Shown>,
}

impl<'v, 'a> Texts<'v, 'a> {
    pub(super) fn new(view: &'v View<'a>) -> Self {
        let failed = view.verdict.exit_code != 0;
        let decisive = view.verdict.broken.iter().filter(|case| case.decisive && failed);
        let broken = decisive.map(|case| ((&*case.case, &*case.target, &*case.metric), case)).collect();
        let shown = view.broken.iter().map(|shown| ((&*shown.key.0, &*shown.key.1), shown)).collect();
        Self { view, broken, shown }
    }

    fn details(&self, case: &CaseRecord) -> Option<&'v Shown> {
        self.shown.get(&(&*case.id, &*case.target)).copied()
    }
}

/// Reads the texts of errors, of a bounded number of them.
pub(super) struct Reader<'t, 'v, 'a> {
    texts: &'t Texts<'v, 'a>,
    left: usize,
}

impl<'t, 'v, 'a> Reader<'t, 'v, 'a> {
    pub(super) fn new(texts: &'t Texts<'v, 'a>) -> Self {
        Self { texts, left: READ }
    }

    /// The message of an outcome's failure, or of one metric's.
    fn message(&mut self, offset: u64, metric: &str) -> Option<Clean> {
        self.left = self.left.checked_sub(1)?;
        let line = self.texts.view.texts?.outcome(offset)?;
        let score = line.scores.into_iter().find(|score| score.metric == metric);
        let failure =
            score.and_then(|score| score.error.or(score.unusable)).filter(|failure| !failure.message.is_empty());
        let failure = failure.or(line.error)?;
        Some(self.texts.view.cleaner.line(&failure.message, TEXT)).filter(|message| !message.is_blank())
    }
}

/// What stands in the suite's first line.
pub(super) fn totals(view: &View<'_>, target: &TargetName, at: usize, texts: &Texts<'_, '_>) -> Totals {
    let metric = view.run.header.metrics.get(at).map_or("", |metric| &*metric.name);
    let mut totals = Totals::default();
    for case in view.run.cases.iter().filter(|case| case.target == *target) {
        totals.count(came(case, at, metric, texts).counted(), time(case).whole_milliseconds());
    }
    totals
}

pub(super) fn suite(
    view: &View<'_>,
    target: &TargetName,
    at: usize,
    labels: &Labels,
    reader: &mut Reader<'_, '_, '_>,
    take: &mut Take<'_>,
) -> io::Result<()> {
    let metric = view.run.header.metrics.get(at).map_or("", |metric| &*metric.name);
    let name = format!("{} / {}{}", labels.suite, labels.metric(metric), labels.of_target(target));
    let mut part = Part::new(view, &name);
    let mut taken = Taken::default();
    for case in view.run.cases.iter().filter(|case| case.target == *target) {
        let test_name = format!("{} / {}{}", labels.case(&case.id), labels.metric(metric), labels.of_target(target));
        let test_name = taken.unique(test_name, &[&case.id, metric, target]);
        let mut test = TestCase::success(&test_name, time(case));
        test.result = result(case, came(case, at, metric, reader.texts), metric, reader);
        test.set_classname(&labels.class(labels.case(&case.id)));
        let place = case.place.as_ref();
        if let Some(place) = place {
            test.set_filepath(xml_attribute(&view.cleaner.line(&place.file, 500)).as_str());
        }
        part.tests.add_testcase(test);
        part.extras.push(Extra { line: place.map(|place| place.line.max(1)), properties: properties(case, at) });
        if part.extras.len() == PART {
            take(std::mem::replace(&mut part, Part::new(view, &name)))?;
        }
    }
    take(part)
}

/// The answers' mean latency in whole milliseconds; nothing where none was measured now.
fn time(case: &CaseRecord) -> Duration {
    let times = case.trials.iter().filter_map(|trial| trial.latency_ms).filter(|ms| ms.is_finite() && *ms >= 0.0);
    let (sum, count) = times.fold((0.0, 0_u32), |(sum, count), ms| (sum + ms, count + 1));
    if count == 0 {
        return Duration::ZERO;
    }
    // A clock's nonsense is no reason to fail.
    Duration::milliseconds((sum / f64::from(count)).round().min(1e12) as i64)
}

/// What a case came to in one metric.
#[derive(Clone, Copy)]
enum Came<'v> {
    Measured,
    /// It made the gate fail.
    Broken(&'v BrokenCase),
    /// With the offset of the line that says so.
    Lost(u64, FailureKind, Side),
    /// And why.
    Skipped(&'static str),
}

impl Came<'_> {
    fn counted(self) -> Counted {
        match self {
            Came::Measured => Counted::Passed,
            Came::Broken(_) => Counted::Failed,
            Came::Lost(..) => Counted::Error,
            Came::Skipped(_) => Counted::Skipped,
        }
    }
}

fn cells(case: &CaseRecord, at: usize) -> impl Iterator<Item = (&TrialRecord, Cell)> {
    case.trials.iter().filter_map(move |trial| Some((trial, trial.cells.get(at).copied().flatten()?)))
}

fn values(case: &CaseRecord, at: usize) -> impl Iterator<Item = f64> {
    cells(case, at).filter_map(|(_, cell)| match cell {
        Cell::Value { value, .. } => Some(value),
        Cell::Error { .. } | Cell::Unusable { .. } | Cell::Skipped(_) => None,
    })
}

fn came<'v>(case: &CaseRecord, at: usize, metric: &str, texts: &Texts<'v, '_>) -> Came<'v> {
    if !texts.broken.is_empty()
        && let Some(broken) = texts.broken.get(&(&*case.id, &*case.target, metric))
    {
        return Came::Broken(broken);
    }
    if values(case, at).next().is_some() {
        return Came::Measured;
    }
    let lost = cells(case, at).find_map(|(trial, cell)| match cell {
        Cell::Error { kind, side } => Some(Came::Lost(trial.offset, kind, side)),
        Cell::Unusable { kind } => Some(Came::Lost(trial.offset, kind, Side::Infra)),
        Cell::Value { .. } | Cell::Skipped(_) => None,
    });
    let unanswered = || {
        let trial = case.trials.iter().find(|trial| trial.answered.is_err())?;
        let (kind, side) = trial.answered.err()?;
        Some(Came::Lost(trial.offset, kind, side))
    };
    lost.or_else(unanswered).unwrap_or_else(|| {
        Came::Skipped(match cells(case, at).next() {
            Some((_, Cell::Skipped(SkipReason::NotApplicable))) => "the metric does not apply to this case",
            Some((_, Cell::Skipped(SkipReason::NotMeasured))) => "it was planned and left out",
            _ => "no score was recorded",
        })
    })
}

fn properties(case: &CaseRecord, at: usize) -> Vec<(&'static str, String)> {
    let values: Vec<f64> = values(case, at).collect();
    let mut properties = Vec::new();
    if !values.is_empty() {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        properties.push(("score", number::exact(mean)));
        if values.len() > 1 {
            let all: Vec<String> = values.iter().copied().map(number::exact).collect();
            properties.push(("trials", all.join(" ")));
        }
    }
    let attempts: u32 = case.trials.iter().map(|trial| trial.attempts).max().unwrap_or_default();
    if attempts > 1 {
        properties.push(("attempts", attempts.to_string()));
    }
    properties
}

fn result(case: &CaseRecord, came: Came<'_>, metric: &str, reader: &mut Reader<'_, '_, '_>) -> TestResult {
    match came {
        Came::Measured => TestResult::Success,
        Came::Broken(broken) => failure(reader.texts.view, case, broken, reader.texts.details(case)),
        Came::Lost(offset, kind, side) => error(case, (offset, kind, side), metric, reader),
        Came::Skipped(why) => TestResult::SkippedWithCause {
            type_: "skipped".to_owned(),
            message: why.to_owned(),
            cause: Some(why.to_owned()),
        },
    }
}

fn failure(view: &View<'_>, case: &CaseRecord, broken: &BrokenCase, shown: Option<&Shown>) -> TestResult {
    let score = |value: Option<f64>| value.map_or_else(|| "none".to_owned(), number::case_score);
    let metric = view.cleaner.line(&broken.metric, 60);
    let moved = match (broken.baseline, broken.current) {
        (None, Some(current)) => format!("{metric} is {}", number::case_score(current)),
        (baseline, current) => format!("{metric} {} → {}", score(baseline), score(current)),
    };
    let one = shown.and_then(|shown| shown.moves.iter().find(|one| one.key == broken.metric));
    let reason = one.and_then(|one| one.reason.clone());
    let because = reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    let mut body = place(view, case);
    body.push(moved.clone());
    if let Some(shown) = shown {
        for (name, text) in [
            ("asked", &shown.question),
            ("expected", &shown.reference),
            ("before", &shown.before),
            ("now", &shown.now),
            ("because", &reason),
        ] {
            body.extend(text.as_ref().map(|text| format!("{name}: {}", text.cut(TEXT))));
        }
    }
    TestResult::Failure {
        type_: if broken.baseline.is_some() { "regression" } else { "below_limit" }.to_owned(),
        message: xml_attribute(&Clean::ours(format!("{moved}{because}")).cut(MESSAGE)).into_string(),
        cause: Some(cdata(&xml_body(&Clean::ours(body.join("\n")).cut(BODY)))),
    }
}

fn error(
    case: &CaseRecord,
    lost: (u64, FailureKind, Side),
    metric: &str,
    reader: &mut Reader<'_, '_, '_>,
) -> TestResult {
    let (offset, kind, side) = lost;
    let said = reader.message(offset, metric).map(|message| format!(": {message}")).unwrap_or_default();
    let who = match side {
        Side::Target => "the system under test failed",
        Side::Infra => "not measured",
    };
    let message = Clean::ours(format!("{who} ({}){said}", kind.word()));
    let mut body = place(reader.texts.view, case);
    body.push(message.to_string());
    TestResult::Error {
        type_: kind.word().to_owned(),
        message: xml_attribute(&message.cut(MESSAGE)).into_string(),
        cause: Some(cdata(&xml_body(&Clean::ours(body.join("\n")).cut(BODY)))),
    }
}

/// First in every body: readers turn it into a link.
fn place(view: &View<'_>, case: &CaseRecord) -> Vec<String> {
    let place = case.place.as_ref();
    place
        .map(|place| view.cleaner.line(&format!("{}:{}", place.file, place.line), 500).to_string())
        .into_iter()
        .collect()
}
