//! One question to a program or service, and the settings that both have.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::super::mark::mark;
use super::super::{Asked, BuildContext, Evaluator, Info, Ready, Subject, Way, spec};
use super::question::question;
use super::said::Reader;
use crate::diagnostic::Diagnostics;
use crate::domain::{Direction, EndpointLimits, Failure, FailureKind, Measurement, MetricName, ScoreKind, Side, Spent};
use crate::net::{
    BoxFuture, Call, Deadlines, Dialect, Expected, Purpose, Request, Response, Route, Transport, exchange,
};
use crate::suite::{Block, Period};

/// Flattened into the settings of both kinds, whose schemas refuse unknown keys.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub(super) struct Common {
    /// What its scores are: `continuous` (default), `ordinal` (grades) or `binary` (0 or 1).
    #[serde(rename = "type")]
    scale: Option<Scale>,
    /// Lowest and highest score. Default: `[0, 1]`; needed for `ordinal`.
    range: Option<[f64; 2]>,
    /// Whether a `higher` (default) or a `lower` score is better.
    #[serde(default)]
    direction: Direction,
    /// A case passes at this score or better. Default: what it says itself (`pass`); for `binary` 1.
    threshold: Option<f64>,
    /// Anything that it is to know, of any form; passed on as it is.
    settings: Option<Map<String, Value>>,
    /// Time for one answer (default: the run's `timeout`).
    timeout: Option<Period>,
    /// How many questions at the same time, and how often.
    limits: Option<EndpointLimits>,
    /// Its version: kept scores are used for the same version alone (default: the commit that is checked out, with what is changed in
    /// it).
    version: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Scale {
    Binary,
    Ordinal,
    Continuous,
}

/// How one is reached.
pub(super) struct Reach {
    /// For messages: the program, or the address.
    pub who: String,
    pub dialect: Dialect,
    /// Answers line by line, and says to which question.
    pub worker: bool,
    /// The request for a question in JSON.
    pub request: Box<dyn Fn(&str) -> Request + Send + Sync>,
}

struct Custom {
    metric: MetricName,
    endpoint: Arc<str>,
    way: Reach,
    reader: Reader,
    settings: Map<String, Value>,
    deadlines: Deadlines,
    limits: EndpointLimits,
    version: Option<Arc<str>>,
}

/// The evaluator. `way`: `None` where something is wrong with it, which is told already.
pub(super) fn ready(
    block: &Block,
    info: &'static Info,
    (common, sound): (Common, bool),
    way: Option<Reach>,
    context: &BuildContext<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<Ready> {
    let kind = scale(block, &common, diagnostics);
    let direction = common.direction;
    let mark = match kind {
        Some(kind) => mark(block, &Info { score: kind, direction, ..*info }, common.threshold, diagnostics),
        None => Err(()),
    };
    let (Some(kind), Ok(mark), Some(way), true) = (kind, mark, way, sound) else { return None };
    let mark = mark.or((kind == ScoreKind::Binary).then_some(if direction == Direction::Higher { 1.0 } else { 0.0 }));
    let mut spec = spec(block, info, mark);
    (spec.kind, spec.pass_mark, spec.direction) = (kind, mark, direction);
    if let Some(fingerprint) = &mut spec.fingerprint {
        fingerprint.0.insert("settings".to_owned(), measuring(block).to_string());
    }
    let lower_is_better = direction == Direction::Lower;
    let whole = common.timeout.map_or(context.deadlines.whole, |period| period.0);
    let custom = Custom {
        metric: block.name.clone(),
        endpoint: format!("evaluator {}", block.name).into(),
        reader: Reader { kind, pass_mark: mark, lower_is_better, says_id: way.worker },
        way,
        settings: common.settings.unwrap_or_default(),
        deadlines: Deadlines { whole, ..context.deadlines },
        limits: common.limits.unwrap_or_default(),
        version: common
            .version
            .as_deref()
            .filter(|stated| !stated.trim().is_empty())
            .or(context.version)
            .map(Arc::from),
    };
    Some(Ready { spec, info, way: Way::Asking(Box::new(custom)) })
}

/// The settings that a score depends on: not how long it may take, nor which version happens to be checked out, nor a credential.
fn measuring(block: &Block) -> Value {
    let mut settings = block.value.clone();
    if let Some(settings) = settings.as_object_mut() {
        settings
            .retain(|key, _| !["threshold", "timeout", "limits", "version", "env", "headers"].contains(&key.as_str()));
        settings.sort_keys();
    }
    settings
}

fn scale(block: &Block, common: &Common, diagnostics: &mut Diagnostics) -> Option<ScoreKind> {
    let [lo, hi] = common.range.unwrap_or([0.0, 1.0]);
    let whole = |value: f64| value.fract() == 0.0 && value.abs() <= 1e6;
    let mut refuse = |place: &str, why: String, help: &str| {
        diagnostics.push(block.problem(place, "empty-range", why).help(help));
        None
    };
    match (common.scale.unwrap_or(Scale::Continuous), common.range) {
        (Scale::Ordinal, None) => {
            refuse("/type", format!("`{}` has grades, and does not say which", block.name), "add `range: [1, 5]`")
        }
        _ if lo.partial_cmp(&hi) != Some(std::cmp::Ordering::Less) || !lo.is_finite() || !hi.is_finite() => refuse(
            "/range",
            format!("the range of `{}` is empty", block.name),
            "write the lowest score first: `range: [0, 1]`",
        ),
        (Scale::Binary, Some(_)) if (lo, hi) != (0.0, 1.0) => refuse(
            "/range",
            format!("the scores of `{}` are 0 and 1", block.name),
            "remove `range`, or write `type: ordinal`",
        ),
        (Scale::Binary, _) => Some(ScoreKind::Binary),
        (Scale::Ordinal, _) if !whole(lo) || !whole(hi) => {
            refuse("/range", format!("the grades of `{}` are whole numbers", block.name), "write `type: continuous`")
        }
        #[expect(clippy::cast_possible_truncation, reason = "whole and small, as checked above")]
        (Scale::Ordinal, _) => Some(ScoreKind::Ordinal { lo: lo as i64, hi: hi as i64 }),
        (Scale::Continuous, _) => Some(ScoreKind::Continuous { lo, hi }),
    }
}

impl Evaluator for Custom {
    fn evaluate<'a>(&'a self, subject: Subject<'a>, transport: &'a dyn Transport) -> BoxFuture<'a, Asked> {
        Box::pin(self.ask(subject, transport))
    }
}

impl Custom {
    async fn ask(&self, subject: Subject<'_>, transport: &dyn Transport) -> Asked {
        let (id, question) = question(&self.metric, subject, &self.settings);
        let call = Call {
            request: (self.way.request)(&format!("{question}\n")),
            endpoint: Arc::clone(&self.endpoint),
            purpose: Purpose::Judge,
            dialect: self.way.dialect,
            deadlines: self.deadlines,
            trial: subject.trial,
            version: self.version.clone(),
            redirects: false,
            route: Route::Direct,
            what: format!("{} of case {}", self.metric, subject.case.id),
            limits: self.limits,
            expected: Expected::default(),
        };
        let read = |response: &Response| Ok((self.reader.read(&response.body, &self.way.who, &id)?, Spent::default()));
        match exchange(transport, &call, read).await {
            Ok((measurement, receipt)) => Asked { attempts: receipt.attempts, ..Asked::nobody(measurement) },
            Err(failure) => {
                let failure = failure.on(Side::Infra);
                let attempts = failure.attempts;
                Asked { attempts, ..Asked::nobody(unmeasured(failure)) }
            }
        }
    }
}

/// A reply that came and says nothing usable is told from a call that failed.
fn unmeasured(failure: Failure) -> Measurement {
    match failure.kind {
        FailureKind::Unusable | FailureKind::NotAScore | FailureKind::Malformed | FailureKind::Empty => {
            Measurement::Unusable(failure)
        }
        _ => Measurement::Error(failure),
    }
}
