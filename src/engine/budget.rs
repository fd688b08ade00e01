//! What the run may spend: reserved before a call is sent, corrected by what it took.
//!
//! Promise: what is reserved and spent together never passes the bound, so that only a call that takes more than was expected of it
//! can overshoot, and by no more than that. A call that does not fit beside those in flight waits: most take less than the longest
//! reply that was reserved for them. The budget is used up once a call does not fit and nothing is in flight.

use std::pin::pin;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use tokio::sync::Notify;

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
    /// A request in flight came to its end.
    landed: Notify,
}

/// Spent and reserved together.
#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    usd: f64,
    tokens: u64,
    requests: u64,
    /// Requests in flight that will soon give back what they do not take.
    in_flight: u64,
}

/// Which bound a request would pass.
struct Passed {
    why: String,
    /// What is in flight may make room for it.
    may_fit: bool,
}

/// What is set aside for one request until it is known what it took.
pub(super) struct Reservation<'a> {
    account: &'a Account,
    usd: f64,
    tokens: u64,
    /// Others may wait for its end; nobody waits for a batch, which may take hours.
    soon: bool,
}

impl Account {
    pub(super) fn new(budget: Budget) -> Self {
        Self {
            budget,
            begun: Instant::now(),
            taken: Mutex::default(),
            exhausted: OnceLock::new(),
            landed: Notify::new(),
        }
    }

    /// Which bound was met.
    pub(super) fn exhausted(&self) -> Option<&str> {
        self.exhausted.get().map(String::as_str)
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets aside what a request is expected to take, as soon as that fits.
    ///
    /// # Errors
    /// Where it would pass a bound with nothing else in flight, and for every request after that one.
    pub(super) async fn reserve(&self, expected: &Expected) -> Result<Reservation<'_>, Failure> {
        self.reserved(expected, true).await
    }

    /// The same for a request that will be in a batch: once submitted, it does not end soon.
    ///
    /// # Errors
    /// As [`Self::reserve`].
    pub(super) async fn reserve_for_batch(&self, expected: &Expected) -> Result<Reservation<'_>, Failure> {
        self.reserved(expected, false).await
    }

    async fn reserved(&self, expected: &Expected, soon: bool) -> Result<Reservation<'_>, Failure> {
        loop {
            let mut landed = pin!(self.landed.notified());
            // From here on no end is missed.
            landed.as_mut().enable();
            if let Some(result) = self.try_reserve(expected, soon) {
                return result;
            }
            landed.await;
        }
    }

    /// `None`: what is in flight has to end first.
    fn try_reserve(&self, expected: &Expected, soon: bool) -> Option<Result<Reservation<'_>, Failure>> {
        let usd = expected.cost.map_or(0.0, |Usd(cost)| cost);
        let tokens = expected.prompt_tokens.saturating_add(expected.longest_reply());
        let mut taken = self.taken();
        let after = Taken {
            usd: taken.usd + usd,
            tokens: taken.tokens.saturating_add(tokens),
            requests: taken.requests.saturating_add(1),
            in_flight: taken.in_flight.saturating_add(u64::from(soon)),
        };
        let why = match (self.exhausted(), self.passed(&taken, &after)) {
            (Some(why), _) => why.to_owned(),
            (None, None) => {
                *taken = after;
                return Some(Ok(Reservation { account: self, usd, tokens, soon }));
            }
            (None, Some(passed)) if passed.may_fit && taken.in_flight > 0 => return None,
            (None, Some(passed)) => passed.why,
        };
        let why = self.exhausted.get_or_init(|| why);
        Some(Err(Failure::infra(FailureKind::Budget, format!("not evaluated: {why}"))))
    }

    fn passed(&self, before: &Taken, after: &Taken) -> Option<Passed> {
        let Budget { usd, tokens, requests, time } = self.budget;
        let for_good = |why: String| Some(Passed { why, may_fit: false });
        let for_now = |why: String| Some(Passed { why, may_fit: true });
        if let Some(most) = requests.filter(|most| after.requests > *most) {
            return for_good(format!("the budget is used up: `run.budget.requests` allows {most}, and all were sent"));
        }
        if let Some(most) = time.filter(|most| self.begun.elapsed() >= *most) {
            return for_good(format!("the budget is used up: `run.budget.time` allows {} s", most.as_secs_f64()));
        }
        if let Some(most) = usd.filter(|most| after.usd > *most + 1e-12) {
            let (spent, next) = (before.usd, after.usd - before.usd);
            return for_now(format!(
                "the budget is used up: `run.budget.usd` allows {most} USD, {spent:.4} are spent, and the next call may take \
                 {next:.4}, as much as its `max_tokens` allows"
            ));
        }
        let most = tokens.filter(|most| after.tokens > *most)?;
        let (spent, next) = (before.tokens, after.tokens.saturating_sub(before.tokens));
        for_now(format!(
            "the budget is used up: `run.budget.tokens` allows {most}, {spent} are spent, and the next call may take {next}, as \
             many as its `max_tokens` allows"
        ))
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

    /// The request was not sent.
    pub(super) fn unsent(self) {
        let mut taken = self.account.taken();
        taken.requests = taken.requests.saturating_sub(1);
        drop(taken);
        self.give_back();
    }

    /// The request was refused and cost nothing. A request that was lost is not given back: it may have been answered and paid for.
    pub(super) fn give_back(self) {
        let mut taken = self.account.taken();
        taken.tokens = taken.tokens.saturating_sub(self.tokens);
        taken.usd = (taken.usd - self.usd).max(0.0);
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        if self.soon {
            let mut taken = self.account.taken();
            taken.in_flight = taken.in_flight.saturating_sub(1);
            drop(taken);
            self.account.landed.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Usage;

    fn expected(tokens: u64, cost: f64) -> Expected {
        Expected {
            prompt_tokens: tokens,
            completion_tokens: Some(0),
            cost: Some(Usd(cost)),
            least_cost: None,
            ..Expected::default()
        }
    }

    fn reserve<'a>(account: &'a Account, expected: &Expected) -> Option<Result<Reservation<'a>, Failure>> {
        account.try_reserve(expected, true)
    }

    fn spent(tokens: u64, cost: f64) -> Spent {
        Spent { usage: Usage { prompt_tokens: tokens, completion_tokens: 0 }, cost: Some(Usd(cost)) }
    }

    #[test]
    fn what_is_in_flight_counts_as_spent_until_it_lands() {
        let account = Account::new(Budget { usd: Some(1.0), ..Budget::default() });
        let first = reserve(&account, &expected(10, 0.4)).unwrap().unwrap();
        let second = reserve(&account, &expected(10, 0.4)).unwrap().unwrap();
        assert!(reserve(&account, &expected(10, 0.4)).is_none(), "two in flight may yet make room");
        first.settle(&spent(10, 0.1));
        let third = reserve(&account, &expected(10, 0.4)).unwrap().unwrap();
        second.settle(&spent(10, 0.4));
        third.settle(&spent(10, 0.4));
        let failure = reserve(&account, &expected(10, 0.2)).unwrap().map(|_| ()).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Budget);
        assert!(
            failure.message.contains("run.budget.usd") && failure.message.contains("0.9000 are spent"),
            "{}",
            failure.message
        );
        let small = reserve(&account, &expected(10, 0.05)).unwrap();
        assert!(small.is_err(), "once it is used up, nothing more is sent");
    }

    #[tokio::test]
    async fn who_does_not_fit_waits_for_those_in_flight() {
        let account = Account::new(Budget { tokens: Some(30), ..Budget::default() });
        let first = account.reserve(&expected(20, 0.0)).await.unwrap();
        let (wanted, after) = (expected(20, 0.0), expected(20, 0.0));
        let (second, ()) = tokio::join!(account.reserve(&wanted), async { first.settle(&spent(5, 0.0)) });
        let second = second.unwrap();
        let (third, ()) = tokio::join!(account.reserve(&after), async { second.settle(&spent(20, 0.0)) });
        assert!(third.is_err(), "25 of 30 are spent, and nothing is in flight");
    }

    #[tokio::test]
    async fn nobody_waits_for_a_batch() {
        let account = Account::new(Budget { tokens: Some(30), ..Budget::default() });
        let batched = account.reserve_for_batch(&expected(20, 0.0)).await.unwrap();
        assert!(account.reserve(&expected(20, 0.0)).await.is_err());
        batched.give_back();
    }

    #[test]
    fn a_lost_call_keeps_what_was_reserved() {
        let account = Account::new(Budget { tokens: Some(25), ..Budget::default() });
        drop(reserve(&account, &expected(20, 0.0)));
        assert!(reserve(&account, &expected(10, 0.0)).unwrap().is_err());
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
            let landed = |reservation: Reservation<'_>| reservation.settle(&spent(10, 0.1));
            let allowed = (0..5).filter_map(|_| reserve(&account, &expected(10, 0.1))?.ok().map(landed)).count();
            assert_eq!(allowed, 2, "{budget:?}");
        }
    }

    #[test]
    fn after_its_time_nothing_is_sent() {
        let budget = Budget { time: Some(std::time::Duration::from_secs(60)), ..Budget::default() };
        let mut account = Account::new(budget);
        assert!(reserve(&account, &Expected::default()).unwrap().is_ok());
        account.begun = account.begun.checked_sub(std::time::Duration::from_secs(60)).unwrap();
        assert!(reserve(&account, &Expected::default()).unwrap().is_err());
        assert!(account.exhausted().unwrap().contains("60 s"));
    }

    #[test]
    fn a_call_without_usage_keeps_what_was_reserved() {
        let account = Account::new(Budget { tokens: Some(25), ..Budget::default() });
        reserve(&account, &expected(20, 0.0)).unwrap().unwrap().settle(&Spent::default());
        assert!(reserve(&account, &expected(10, 0.0)).unwrap().is_err());
    }
}
