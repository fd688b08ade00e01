//! One case, target and trial, from question to scores.

use std::sync::Arc;

use futures_util::future::join_all;

use super::pack::{Member, Spot};
use super::plan::Plan;
use super::tally::Tally;
use crate::domain::{Answer, Case, Failure, FailureKind, Measurement, MetricName, Outcome, Score, SkipReason, Spent};
use crate::evaluator::{Asked, Ready, Subject, Way, compose};
use crate::net::Transport;

/// What is to be done.
#[derive(Clone)]
pub(super) struct Job {
    pub(super) case: Arc<Case>,
    /// Position of the case among those of this run: without gaps, unlike its index.
    pub(super) place: usize,
    /// Position in `Plan::targets`.
    pub(super) target: usize,
    pub(super) trial: u32,
}

impl Job {
    pub(super) fn spot(&self) -> Spot {
        Spot { place: self.place, target: self.target, trial: self.trial }
    }
}

/// An outcome with what it took.
pub(super) struct Done {
    pub(super) outcome: Outcome,
    pub(super) spent: Spent,
    /// Judge replies that were asked for again in the required form.
    pub(super) repairs: u64,
}

/// Asks the target once, then all evaluators at once.
pub(super) async fn carry_out(plan: &Plan, job: &Job, member: Member, transport: &dyn Transport) -> Done {
    let Some(target) = plan.targets.get(job.target) else { return broken(plan, job, "a target without a place") };
    let tally = Tally::new(transport);
    let answer = target.target.ask(&job.case, job.trial, &tally).await;
    let mut spent = tally.refused();
    let mut repairs = 0_u64;
    let scores = match &answer {
        Err(failure) => plan.evaluators.iter().map(|evaluator| unanswered(evaluator, failure)).collect(),
        Ok(answer) => {
            if !target.free && !answer.cached {
                spent += Spent { usage: answer.usage, cost: answer.cost };
            }
            let asker = Asker { job, answer, shared: member.shared(answer), member: &member, transport };
            let asked =
                plan.evaluators.iter().enumerate().map(|(position, evaluator)| asker.measure(position, evaluator));
            let asked = join_all(asked).await;
            let mut scores = Vec::with_capacity(asked.len());
            for (metric, asked) in asked {
                spent += asked.spent;
                repairs = repairs.saturating_add(u64::from(asked.repairs));
                scores.push(Score { metric, measurement: asked.measurement });
            }
            compose(&plan.evaluators, &mut scores);
            scores
        }
    };
    let outcome =
        Outcome { case: Arc::clone(&job.case), target: Arc::clone(&target.name), trial: job.trial, answer, scores };
    Done { outcome, spent, repairs }
}

/// A job with its answer.
struct Asker<'a> {
    job: &'a Job,
    answer: &'a Answer,
    /// The same where somebody else may ask for this job too.
    shared: Option<Arc<Answer>>,
    member: &'a Member,
    transport: &'a dyn Transport,
}

impl Asker<'_> {
    async fn measure(&self, position: usize, evaluator: &Ready) -> (MetricName, Asked) {
        let Self { job, answer, shared, member, transport } = self;
        let subject = Subject { case: &job.case, answer, trial: job.trial };
        let asked = match (&evaluator.way, shared) {
            (Way::Pure(scorer), _) => Asked::nobody(scorer.score(subject)),
            // Made of the other scores, when these are there.
            (Way::Composite(_), _) => Asked::nobody(Measurement::Skipped(SkipReason::NotMeasured, String::new())),
            (Way::Asking(asking), None) => asking.evaluate(subject, *transport).await,
            (Way::Asking(asking), Some(shared)) => {
                member.ask(position, asking.as_ref(), &job.case, shared, *transport).await
            }
        };
        (evaluator.spec.name.clone(), asked)
    }
}

fn unanswered(evaluator: &Ready, failure: &Failure) -> Score {
    let kind = match failure.kind {
        FailureKind::Cancelled => FailureKind::Cancelled,
        _ => FailureKind::NoAnswer,
    };
    let message = format!("no answer to score: {}", failure.message);
    let failure = Failure { kind, side: failure.side, message, attempts: 0, raw: None };
    Score { metric: evaluator.spec.name.clone(), measurement: Measurement::Error(failure) }
}

/// The outcome of a job that this program broke: one bad job never costs another.
pub(super) fn broken(plan: &Plan, job: &Job, why: &str) -> Done {
    let failure = Failure::infra(FailureKind::Internal, format!("scoregate failed on this case: {why}"));
    let scores = plan.evaluators.iter().map(|evaluator| unanswered(evaluator, &failure)).collect();
    let target = plan.targets.get(job.target).map_or_else(|| "?".into(), |target| Arc::clone(&target.name));
    let answer: Result<Answer, Failure> = Err(failure);
    let outcome = Outcome { case: Arc::clone(&job.case), target, trial: job.trial, answer, scores };
    Done { outcome, spent: Spent::default(), repairs: 0 }
}
