//! One case, target and trial, from question to scores.

use std::ops::AddAssign;
use std::sync::Arc;

use futures_util::future::join_all;

use super::plan::Plan;
use crate::domain::{Answer, Case, Failure, FailureKind, Measurement, Outcome, Score, Usage, Usd};
use crate::evaluator::{Ready, Subject, Way};
use crate::net::Transport;

/// What is to be done.
#[derive(Clone)]
pub(super) struct Job {
    pub(super) case: Arc<Case>,
    /// Position in `Plan::targets`.
    pub(super) target: usize,
    pub(super) trial: u32,
}

/// An outcome with what it took.
pub(super) struct Done {
    pub(super) outcome: Outcome,
    pub(super) spent: Spent,
}

/// What was paid for in this invocation: neither recorded answers nor answers from the ledger.
#[derive(Clone, Copy, Default)]
pub(super) struct Spent {
    pub(super) usage: Usage,
    /// `None` where no price is known.
    pub(super) cost: Option<Usd>,
}

impl AddAssign for Spent {
    fn add_assign(&mut self, more: Self) {
        self.usage += more.usage;
        if let Some(Usd(more)) = more.cost {
            self.cost = Some(Usd(self.cost.map_or(0.0, |Usd(sum)| sum) + more));
        }
    }
}

/// Asks the target once, then all evaluators at once.
pub(super) async fn carry_out(plan: &Plan, job: &Job, transport: &dyn Transport) -> Done {
    let Some(target) = plan.targets.get(job.target) else { return broken(plan, job, "a target without a place") };
    let answer = target.target.ask(&job.case, job.trial, transport).await;
    let mut spent = Spent::default();
    let scores = match &answer {
        Err(failure) => plan.evaluators.iter().map(|evaluator| unanswered(evaluator, failure)).collect(),
        Ok(answer) => {
            if !target.free && !answer.cached {
                spent += Spent { usage: answer.usage, cost: answer.cost };
            }
            let subject = Subject { case: &job.case, answer, trial: job.trial };
            let asked = join_all(plan.evaluators.iter().map(|evaluator| measure(evaluator, subject, transport))).await;
            let mut scores = Vec::with_capacity(asked.len());
            for (score, more) in asked {
                spent += more;
                scores.push(score);
            }
            scores
        }
    };
    let outcome =
        Outcome { case: Arc::clone(&job.case), target: Arc::clone(&target.name), trial: job.trial, answer, scores };
    Done { outcome, spent }
}

async fn measure(evaluator: &Ready, subject: Subject<'_>, transport: &dyn Transport) -> (Score, Spent) {
    let metric = evaluator.spec.name.clone();
    match &evaluator.way {
        Way::Pure(scorer) => (Score { metric, measurement: scorer.score(subject) }, Spent::default()),
        Way::Asking(asking) => {
            let asked = asking.evaluate(subject, transport).await;
            let spent = Spent { usage: asked.usage, cost: asked.cost };
            (Score { metric, measurement: asked.measurement }, spent)
        }
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
    Done { outcome, spent: Spent::default() }
}
