//! What the run may spend: reserved before a call is sent, corrected by what it took.
//!
//! Promise: what is reserved and spent together never passes the bound, so that only a call that takes more than was expected of it
//! can overshoot, and by no more than that.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use crate::domain::{Failure, FailureKind, Spent, Usd};
use crate::net::Expected;
use crate::suite::Budget;

/// The account of a run.
pub(super) struct Account {
    budget: Budget,
    begun: Instant,
    taken: Mutex<Taken>,
    /// Which bound was met, for a person. From then on nothing is sent.
    exhausted: OnceLock<String>,
}

/// Spent and reserved together.
#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    usd: f64,
    tokens: u64,
    requests: u64,
}

/// What is set aside for one request until it is known what it took.
pub(super) struct Reservation<'a> {
    account: &'a Account,
    usd: f64,
    tokens: u64,
}

impl Account {
    pub(super) fn new(budget: Budget) -> Self {
        Self { budget, begun: Instant::now(), taken: Mutex::default(), exhausted: OnceLock::new() }
    }

    /// Which bound was met.
    pub(super) fn exhausted(&self) -> Option<&str> {
        self.exhausted.get().map(String::as_str)
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets aside what a request is expected to take.
    ///
    /// # Errors
    /// Where that would pass a bound, and for every request after that one.
    pub(super) fn reserve(&self, expected: &Expected) -> Result<Reservation<'_>, Failure> {
        let usd = expected.cost.map_or(0.0, |Usd(cost)| cost);
        let tokens = expected.prompt_tokens.saturating_add(expected.longest_reply());
        let mut taken = self.taken();
        let after = Taken {
            usd: taken.usd + usd,
            tokens: taken.tokens.saturating_add(tokens),
            requests: taken.requests.saturating_add(1),
        };
        if let Some(why) = self.exhausted().map(str::to_owned).or_else(|| self.passed(&taken, &after)) {
            drop(taken);
            let why = self.exhausted.get_or_init(|| why);
            return Err(Failure::infra(FailureKind::Budget, format!("not evaluated: {why}")));
        }
        *taken = after;
        drop(taken);
        Ok(Reservation { account: self, usd, tokens })
    }

    /// Which bound `after` would pass.
    fn passed(&self, before: &Taken, after: &Taken) -> Option<String> {
        let Budget { usd, tokens, requests, time } = self.budget;
        if let Some(most) = usd.filter(|most| after.usd > *most + 1e-12) {
            let (spent, next) = (before.usd, after.usd - before.usd);
            return Some(format!(
                "the budget is used up: `run.budget.usd` allows {most} USD, {spent:.4} are spent or reserved, and the next call may take {next:.4}"
            ));
        }
        if let Some(most) = tokens.filter(|most| after.tokens > *most) {
            let (spent, next) = (before.tokens, after.tokens.saturating_sub(before.tokens));
            return Some(format!(
                "the budget is used up: `run.budget.tokens` allows {most}, {spent} are spent or reserved, and the next call may take {next}"
            ));
        }
        if let Some(most) = requests.filter(|most| after.requests > *most) {
            return Some(format!("the budget is used up: `run.budget.requests` allows {most}, and all were sent"));
        }
        let most = time.filter(|most| self.begun.elapsed() >= *most)?;
        Some(format!("the budget is used up: `run.budget.time` allows {} s", most.as_secs_f64()))
    }
}

impl Reservation<'_> {
    /// The request was answered and took `spent`; where the answer does not say, what was reserved stays taken.
    pub(super) fn settle(self, spent: &Spent) {
        let mut taken = self.account.taken();
        if !spent.usage.is_empty() {
            let used = spent.usage.prompt_tokens.saturating_add(spent.usage.completion_tokens);
            taken.tokens = taken.tokens.saturating_sub(self.tokens).saturating_add(used);
        }
        if let Some(Usd(cost)) = spent.cost {
            taken.usd = (taken.usd - self.usd + cost).max(0.0);
        }
    }

    /// The request was refused and cost nothing. A request that was lost is not given back: it may have been answered and paid for.
    pub(super) fn give_back(self) {
        let mut taken = self.account.taken();
        taken.tokens = taken.tokens.saturating_sub(self.tokens);
        taken.usd = (taken.usd - self.usd).max(0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Usage;

    fn expected(tokens: u64, cost: f64) -> Expected {
        Expected { prompt_tokens: tokens, completion_tokens: Some(0), cost: Some(Usd(cost)), least_cost: None }
    }

    #[test]
    fn what_is_in_flight_counts_as_spent() {
        let account = Account::new(Budget { usd: Some(1.0), ..Budget::default() });
        let first = account.reserve(&expected(10, 0.4)).unwrap();
        let second = account.reserve(&expected(10, 0.4)).unwrap();
        first.settle(&Spent { usage: Usage { prompt_tokens: 9, completion_tokens: 1 }, cost: Some(Usd(0.1)) });
        let third = account.reserve(&expected(10, 0.4)).unwrap();
        let failure = account.reserve(&expected(10, 0.2)).map(|_| ()).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Budget);
        assert!(
            failure.message.contains("run.budget.usd") && failure.message.contains("0.9000"),
            "{}",
            failure.message
        );
        second.give_back();
        third.give_back();
        assert!(account.reserve(&expected(10, 0.1)).is_err(), "once it is used up, nothing more is sent");
    }

    #[test]
    fn each_bound_holds() {
        let bounds = [
            Budget { tokens: Some(25), ..Budget::default() },
            Budget { requests: Some(2), ..Budget::default() },
            Budget { usd: Some(0.2), ..Budget::default() },
        ];
        for budget in bounds {
            let account = Account::new(budget);
            let allowed = (0..5).filter(|_| account.reserve(&expected(10, 0.1)).is_ok()).count();
            assert_eq!(allowed, 2, "{budget:?}");
        }
    }

    #[test]
    fn after_its_time_nothing_is_sent() {
        let budget = Budget { time: Some(std::time::Duration::from_secs(60)), ..Budget::default() };
        let mut account = Account::new(budget);
        assert!(account.reserve(&Expected::default()).is_ok());
        account.begun = account.begun.checked_sub(std::time::Duration::from_secs(60)).unwrap();
        assert!(account.reserve(&Expected::default()).is_err());
        assert!(account.exhausted().unwrap().contains("60 s"));
    }

    #[test]
    fn a_call_without_usage_keeps_what_was_reserved() {
        let account = Account::new(Budget { tokens: Some(25), ..Budget::default() });
        account.reserve(&expected(20, 0.0)).unwrap().settle(&Spent::default());
        assert!(account.reserve(&expected(10, 0.0)).is_err());
    }
}
