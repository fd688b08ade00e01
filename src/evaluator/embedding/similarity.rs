//! The answer against the reference by their vectors: what `semantic_similarity` and `answer_similarity` share.

use futures_util::future::join_all;
use serde::Deserialize;

use super::super::judge::{embedder, may_do_better_alone};
use super::super::pure::{reading, threshold};
use super::super::{Asked, BuildContext, Evaluator, Info, Needs, Packing, Ready, Subject, Way, missing, no, spec};
use super::space::{Measure, Space, between, distance};
use crate::diagnostic::Diagnostics;
use crate::domain::{Failure, Measurement, MetricName, ScoreKind, Spent};
use crate::net::{BoxFuture, Transport};
use crate::suite::Block;
use schemars::JsonSchema;

/// Texts of one case: the answer and its reference.
const TEXTS: usize = 2;

/// Whose number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Compat {
    #[default]
    Scoregate,
    /// LlamaIndex has the negative distance for `euclidean`.
    Llamaindex,
}

/// What is asked for, once the settings are read.
pub(super) struct Wanted<'s> {
    pub model: &'s str,
    pub measure: Measure,
    pub compat: Compat,
    pub threshold: Option<f64>,
    pub sound: bool,
}

struct Similarity {
    metric: MetricName,
    info: &'static Info,
    kind: ScoreKind,
    pass_mark: Option<f64>,
    measure: Measure,
    compat: Compat,
    space: Space,
}

/// The evaluator; `None` after pushing every problem.
pub(super) fn build(
    block: &Block,
    info: &'static Info,
    wanted: &Wanted<'_>,
    context: &BuildContext<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<Ready> {
    let Wanted { measure, compat, .. } = *wanted;
    let negative = measure == Measure::Euclidean && compat == Compat::Llamaindex;
    let kind = match measure {
        // Vectors of length 1 are at most 2 apart.
        Measure::Euclidean if negative => ScoreKind::Continuous { lo: -2.0, hi: 0.0 },
        Measure::Euclidean => ScoreKind::UNIT,
        Measure::Cosine | Measure::Dot => info.score,
    };
    let model = embedder(block, "/model", wanted.model, context, diagnostics);
    let mark = threshold(block, &Info { score: kind, ..*info }, wanted.threshold, diagnostics);
    let (Some(embedder), Ok(mark), true) = (model, mark, wanted.sound) else { return None };
    // The usual mark is one of cosines.
    let mark = mark.or(info.pass_mark.filter(|_| measure != Measure::Euclidean));
    let mut spec = spec(block, info, mark);
    (spec.kind, spec.pass_mark) = (kind, mark);
    if let Some(fingerprint) = &mut spec.fingerprint {
        fingerprint.0.extend(embedder.fingerprint.0.clone());
    }
    let space = Space { embedder, deadlines: context.deadlines };
    let metric = block.name.clone();
    let similarity = Similarity { metric, info, kind, pass_mark: mark, measure, compat, space };
    Some(Ready { spec, info, way: Way::Asking(Box::new(similarity)) })
}

impl Evaluator for Similarity {
    fn evaluate<'a>(&'a self, subject: Subject<'a>, transport: &'a dyn Transport) -> BoxFuture<'a, Asked> {
        Box::pin(self.one(subject, transport))
    }

    fn packing(&self) -> Option<Packing> {
        let size = self.space.embedder.batch_size / TEXTS;
        (size > 1).then(|| Packing { size, ..Packing::default() })
    }

    fn evaluate_together<'a>(
        &'a self,
        subjects: &'a [Subject<'a>],
        transport: &'a dyn Transport,
    ) -> BoxFuture<'a, Vec<Asked>> {
        Box::pin(self.together(subjects, transport))
    }
}

impl Similarity {
    async fn one(&self, subject: Subject<'_>, transport: &dyn Transport) -> Asked {
        let texts = match self.texts(subject) {
            Ok(texts) => texts,
            Err(nothing) => return Asked::nobody(nothing),
        };
        let what = format!("{} of case {}", self.metric, subject.case.id);
        let embedded = self.space.embed(&texts, &what, transport).await;
        let measurement = match embedded.vectors.as_deref() {
            Ok(vectors) => self.measured(vectors),
            Err(failure) => Measurement::Error(failure.clone()),
        };
        Asked { measurement, spent: embedded.spent, attempts: embedded.attempts, repairs: 0 }
    }

    async fn together(&self, subjects: &[Subject<'_>], transport: &dyn Transport) -> Vec<Asked> {
        let each: Vec<Result<[&str; TEXTS], Measurement>> =
            subjects.iter().map(|subject| self.texts(*subject)).collect();
        let texts: Vec<&str> = each.iter().flatten().flatten().copied().collect();
        let asking = each.iter().filter(|texts| texts.is_ok()).count();
        if asking < 2 {
            return join_all(subjects.iter().map(|subject| self.one(*subject, transport))).await;
        }
        let embedded = self.space.embed(&texts, &self.name(subjects), transport).await;
        let vectors = match embedded.vectors {
            Ok(vectors) => vectors,
            // One text that is refused would cost all.
            Err(failure) if may_do_better_alone(failure.kind) => {
                let mut asked = join_all(subjects.iter().map(|subject| self.one(*subject, transport))).await;
                count(&mut asked, embedded.spent, embedded.attempts);
                return asked;
            }
            Err(failure) => {
                let failed = |texts: Result<_, Measurement>| {
                    Asked::nobody(texts.err().unwrap_or_else(|| Measurement::Error(failure.clone())))
                };
                let mut asked: Vec<Asked> = each.into_iter().map(failed).collect();
                count(&mut asked, embedded.spent, embedded.attempts);
                return asked;
            }
        };
        let mut pairs = vectors.chunks(TEXTS);
        let mut asked: Vec<Asked> = each
            .into_iter()
            .map(|texts| match texts {
                Ok(_) => Asked::nobody(self.measured(pairs.next().unwrap_or_default())),
                Err(nothing) => Asked::nobody(nothing),
            })
            .collect();
        count(&mut asked, embedded.spent, embedded.attempts);
        asked
    }

    fn texts<'a>(&self, subject: Subject<'a>) -> Result<[&'a str; TEXTS], Measurement> {
        if let Some(nothing) = missing(subject, self.info.needs) {
            return Err(nothing);
        }
        let reference = subject.case.reference.as_deref();
        let reference = reference.ok_or_else(|| Measurement::Error(no(Needs::Reference)))?;
        Ok([subject.answer.text.as_str(), reference])
    }

    fn measured(&self, vectors: &[Vec<f64>]) -> Measurement {
        let value = match vectors {
            [answer, reference] => self.compare(answer, reference),
            _ => Err(Failure::infra(crate::domain::FailureKind::Internal, "a text has no vector")),
        };
        let info = Info { score: self.kind, pass_mark: self.pass_mark, ..*self.info };
        match value.and_then(|value| reading(&info, self.pass_mark, value)) {
            Ok(reading) => Measurement::Value(reading),
            Err(failure) => Measurement::Error(failure),
        }
    }

    fn compare(&self, answer: &[f64], reference: &[f64]) -> Result<f64, Failure> {
        match (self.measure, self.compat) {
            (Measure::Euclidean, Compat::Llamaindex) if answer.len() == reference.len() => {
                Ok(-distance(answer, reference))
            }
            (measure, _) => between(measure, answer, reference),
        }
    }

    /// For messages: `similarity of 5 cases from q1 to q5`.
    fn name(&self, subjects: &[Subject<'_>]) -> String {
        let id = |subject: Option<&Subject<'_>>| subject.map(|one| one.case.id.to_string()).unwrap_or_default();
        let (first, last) = (id(subjects.first()), id(subjects.last()));
        format!("{} of {} cases from {first} to {last}", self.metric, subjects.len())
    }
}

/// A request that is shared is counted once.
fn count(asked: &mut [Asked], spent: Spent, attempts: u32) {
    if let Some(first) = asked.first_mut() {
        first.spent += spent;
        first.attempts = first.attempts.saturating_add(attempts);
    }
}
