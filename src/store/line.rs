//! One outcome line of `results.jsonl` as it is written and read.

use serde::{Deserialize, Serialize};

use crate::domain::{
    Answer, Context, Digest, Failure, FailureKind, Measurement, Outcome, Place, Score, Side, SkipReason, Usage, Usd,
};

/// `{"type":"outcome",…}`: one case, target and trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutcomeLine {
    /// In a shard's results: the case's position among the cases of all shards. It stands first, so that joining shards can take it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u64>,
    pub case: String,
    #[serde(default)]
    pub target: String,
    #[serde(default)]
    pub trial: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Digest>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<AnswerLine>,
    /// The target failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<FailureLine>,
    #[serde(default)]
    pub scores: Vec<ScoreLine>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AnswerLine {
    pub text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contexts: Vec<ContextLine>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<f64>,
    #[serde(default, skip_serializing_if = "Usage::is_empty")]
    pub usage: Usage,
    /// One of the two counts of `usage` is not known.
    #[serde(default, skip_serializing_if = "is_false")]
    pub half_counted: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Usd>,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub attempts: u32,
    #[serde(default, skip_serializing_if = "is_false")]
    pub cached: bool,
}

/// A context: its text alone, or with id and score.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ContextLine {
    Text(String),
    Full {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        score: Option<f64>,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FailureLine {
    pub kind: FailureKind,
    #[serde(default = "infra")]
    pub side: Side,
    #[serde(default)]
    pub message: String,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub attempts: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
}

/// Exactly one of `value`, `error`, `unusable`, `skipped`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScoreLine {
    pub metric: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub repaired: bool,
    /// The judge's model as its service named it in the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What a reader must know of the score (`speaks_to_the_judge`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<FailureLine>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unusable: Option<FailureLine>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<SkipReason>,
}

fn infra() -> Side {
    Side::Infra
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(flag: &bool) -> bool {
    !*flag
}

impl From<&Failure> for FailureLine {
    fn from(failure: &Failure) -> Self {
        Self {
            kind: failure.kind,
            side: failure.side,
            message: failure.message.clone(),
            attempts: failure.attempts,
            raw: failure.raw.clone(),
        }
    }
}

impl From<FailureLine> for Failure {
    fn from(line: FailureLine) -> Self {
        let FailureLine { kind, side, message, attempts, raw } = line;
        Self { kind, side, message, attempts, raw }
    }
}

impl From<&Context> for ContextLine {
    fn from(context: &Context) -> Self {
        if context.id.is_none() && context.score.is_none() {
            return Self::Text(context.text.clone());
        }
        Self::Full { id: context.id.clone(), text: context.text.clone(), score: context.score }
    }
}

impl From<&Answer> for AnswerLine {
    fn from(answer: &Answer) -> Self {
        Self {
            text: answer.text.clone(),
            contexts: answer.contexts.iter().map(ContextLine::from).collect(),
            latency_ms: answer.latency.map(|latency| (latency.as_secs_f64() * 1e6).round() / 1e3),
            usage: answer.usage,
            half_counted: answer.half_counted,
            cost: answer.cost,
            attempts: answer.attempts,
            cached: answer.cached,
        }
    }
}

impl From<&Score> for ScoreLine {
    fn from(score: &Score) -> Self {
        let line = Self { metric: score.metric.to_string(), ..Self::default() };
        match &score.measurement {
            Measurement::Value(reading) => Self {
                value: Some(reading.value()),
                passed: reading.passed,
                reason: reading.reason.clone(),
                repaired: reading.repaired,
                model: reading.model.as_deref().map(str::to_owned),
                flags: reading.flags.iter().map(ToString::to_string).collect(),
                ..line
            },
            Measurement::Error(failure) => Self { error: Some(failure.into()), ..line },
            Measurement::Unusable(failure) => Self { unusable: Some(failure.into()), ..line },
            Measurement::Skipped(why, text) => {
                Self { skipped: Some(*why), reason: Some(text.clone()).filter(|text| !text.is_empty()), ..line }
            }
        }
    }
}

impl From<&Outcome> for OutcomeLine {
    fn from(outcome: &Outcome) -> Self {
        let case = &outcome.case;
        Self {
            index: None,
            case: case.id.to_string(),
            target: outcome.target.to_string(),
            trial: outcome.trial,
            tags: case.tags.iter().map(ToString::to_string).collect(),
            cluster: case.cluster.as_deref().map(str::to_owned),
            content: Some(case.content),
            place: Some(case.place.clone()),
            input: Some(case.input.clone()),
            reference: case.reference.clone(),
            answer: outcome.answer.as_ref().ok().map(AnswerLine::from),
            error: outcome.answer.as_ref().err().map(FailureLine::from),
            scores: outcome.scores.iter().map(ScoreLine::from).collect(),
        }
    }
}
