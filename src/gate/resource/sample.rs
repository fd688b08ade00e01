//! What the answers of one target took, as numbers that are added and compared exactly.

use std::cmp::Ordering;

use super::super::sheet::Sheet;
use crate::domain::{CaseRecord, Resource, Statistic, TrialRecord, Usd};
use crate::stats::{CaseMean, Ratio, SCALE, cluster_means, mean_interval, percentile_ranks, total};

/// The answers of a set of cases.
pub(super) struct Sample {
    pub(super) resource: Resource,
    /// Row of the sheet, the mean of its answers, its cluster.
    pub(super) cases: Vec<(usize, CaseMean, Option<usize>)>,
    /// Every answer, the smallest first.
    answers: Vec<Ratio>,
    /// Cases that were answered, whether or not they say what it took.
    pub(super) answered: u64,
    /// Answers that do not say what they took, of whatever case.
    pub(super) silent: u64,
    /// Answers that never came: what they took is known of none, and one that timed out took at least its timeout.
    pub(super) lost: u64,
}

/// Dollars are held in millionths: scores keep six places, and a token costs less than that.
pub(super) fn factor(resource: Resource) -> f64 {
    match resource {
        Resource::Latency | Resource::Tokens => 1.0,
        Resource::Cost => 1e6,
    }
}

/// The numbers of a row's answers.
pub(super) fn numbers(row: &CaseRecord, resource: Resource) -> Vec<f64> {
    row.trials.iter().filter_map(|trial| number(trial, resource)).collect()
}

fn number(trial: &TrialRecord, resource: Resource) -> Option<f64> {
    let number = match resource {
        Resource::Latency => trial.latency_ms,
        Resource::Tokens => trial.tokens.map(|tokens| tokens as f64),
        Resource::Cost => trial.cost.map(|Usd(dollars)| dollars * 1e6),
    };
    number.filter(|number| number.is_finite() && *number >= 0.0)
}

/// Answers of a row that do not say what they took.
fn silent(row: &CaseRecord, resource: Resource) -> u64 {
    let answers = row.trials.iter().filter(|trial| trial.answered.is_ok());
    answers.filter(|trial| number(trial, resource).is_none()).count() as u64
}

impl Sample {
    fn empty(resource: Resource) -> Self {
        Self { resource, cases: Vec::new(), answers: Vec::new(), answered: 0, silent: 0, lost: 0 }
    }

    pub(super) fn of(sheet: &Sheet<'_>, resource: Resource) -> Self {
        let mut sample = Self::empty(resource);
        for (at, (row, cluster)) in sheet.rows.iter().zip(&sheet.clusters).enumerate() {
            let lost = row.trials.iter().filter(|trial| trial.answered.is_err()).count();
            sample.lost += lost as u64;
            if lost == row.trials.len() {
                continue;
            }
            sample.answered += 1;
            sample.silent += silent(row, resource);
            sample.add(at, &numbers(row, resource), *cluster);
        }
        sample.sorted()
    }

    /// Of other numbers than a sheet's, one list a case.
    pub(super) fn from(resource: Resource, cases: impl IntoIterator<Item = (usize, Vec<f64>, Option<usize>)>) -> Self {
        let mut sample = Self::empty(resource);
        for (at, numbers, cluster) in cases {
            sample.answered += 1;
            sample.add(at, &numbers, cluster);
        }
        sample.sorted()
    }

    fn add(&mut self, at: usize, numbers: &[f64], cluster: Option<usize>) {
        if let Some(mean) = CaseMean::of(numbers) {
            self.cases.push((at, mean, cluster));
            self.answers.extend(numbers.iter().filter_map(|number| Ratio::decimal(*number)));
        }
    }

    fn sorted(mut self) -> Self {
        self.answers.sort_by(|left, right| left.compare(*right));
        self
    }

    pub(super) fn measured(&self) -> u64 {
        self.cases.len() as u64
    }

    /// Answered cases of which no answer says what it took.
    pub(super) fn missing(&self) -> u64 {
        self.answered.saturating_sub(self.measured())
    }

    /// Answers that say what they took.
    pub(super) fn told(&self) -> u64 {
        self.answers.len() as u64
    }

    /// What a statistic does not know, of how many: a mean is read over cases, the others over single answers.
    pub(super) fn unknown(&self, statistic: Statistic) -> (u64, u64) {
        match statistic {
            Statistic::Mean => (self.missing(), self.answered),
            Statistic::P50 | Statistic::P95 => (self.silent, self.told().saturating_add(self.silent)),
            Statistic::CaseMax | Statistic::Total => (self.silent.saturating_add(self.lost), self.all()),
        }
    }

    /// Answers that were asked for.
    pub(super) fn all(&self) -> u64 {
        self.told().saturating_add(self.silent).saturating_add(self.lost)
    }

    /// A percentile is on the same side of the limit whatever the lost answers took: nothing, or more than any other.
    pub(super) fn settled(&self, statistic: Statistic, limit: Option<Ratio>) -> bool {
        let percent = match statistic {
            Statistic::P50 => 50,
            Statistic::P95 => 95,
            Statistic::Mean | Statistic::CaseMax | Statistic::Total => return true,
        };
        let lost = usize::try_from(self.lost).unwrap_or(usize::MAX);
        let Some(rank) = self.answers.len().saturating_add(lost).checked_mul(percent) else { return false };
        let rank = rank.div_ceil(100);
        let most = rank.checked_sub(1).and_then(|at| self.answers.get(at));
        let at_most_holds = most.is_some_and(|most| within(*most, limit));
        let least = rank.checked_sub(lost).and_then(|rank| rank.checked_sub(1)).and_then(|at| self.answers.get(at));
        let at_least_holds = least.is_none_or(|least| within(*least, limit));
        at_most_holds == at_least_holds
    }

    /// `None` without any number.
    pub(super) fn value(&self, statistic: Statistic) -> Option<Ratio> {
        let mean = || total(self.cases.iter().map(|(_, mean, _)| mean));
        match statistic {
            Statistic::Mean => mean(),
            Statistic::Total => mean()?.times(Ratio::new(i128::from(self.measured()), 1)?),
            Statistic::P50 => self.ranked(50),
            Statistic::P95 => self.ranked(95),
            Statistic::CaseMax => self.answers.last().copied(),
        }
    }

    /// The smallest answer that at least so many of a hundred do not exceed.
    fn ranked(&self, percent: usize) -> Option<Ratio> {
        let rank = self.answers.len().checked_mul(percent)?.div_ceil(100);
        self.answers.get(rank.checked_sub(1)?).copied()
    }

    /// Cases, or clusters: what an interval counts.
    pub(super) fn units(&self) -> usize {
        let clusters: Vec<Option<usize>> = self.cases.iter().map(|(_, _, cluster)| *cluster).collect();
        cluster_means(&vec![0.0; clusters.len()], &clusters).len()
    }

    /// (lower, upper, method), each end at level alpha; a side that the sample is too small for is infinite. `None`: nothing is known of one.
    pub(super) fn interval(&self, statistic: Statistic, alpha: f64) -> Option<(f64, f64, &'static str)> {
        match statistic {
            Statistic::Mean => {
                let clusters: Vec<Option<usize>> = self.cases.iter().map(|(_, _, cluster)| *cluster).collect();
                let values: Vec<f64> = self.cases.iter().map(|(_, mean, _)| mean.value()).collect();
                let units = cluster_means(&values, &clusters);
                let (lower, upper) = mean_interval(&units, 0.0, alpha, 0.0, (0.0, f64::MAX))?;
                Some((lower, upper, "hall_t"))
            }
            Statistic::P50 => self.ranks(0.5, alpha),
            Statistic::P95 => self.ranks(0.95, alpha),
            Statistic::CaseMax | Statistic::Total => None,
        }
    }

    /// Whether more cases would give the statistic an interval; one that never has any is read by its value in every mode.
    pub(super) fn can_have_interval(&self, statistic: Statistic) -> bool {
        match statistic {
            Statistic::Mean => true,
            Statistic::P50 | Statistic::P95 => self.apart(),
            Statistic::CaseMax | Statistic::Total => false,
        }
    }

    /// Answers that hang together, of one case or of one cluster, say less than their number.
    fn apart(&self) -> bool {
        self.answers.len() == self.cases.len() && self.cases.iter().all(|(_, _, cluster)| cluster.is_none())
    }

    fn ranks(&self, at: f64, alpha: f64) -> Option<(f64, f64, &'static str)> {
        if !self.apart() {
            return None;
        }
        let (lower, upper) = percentile_ranks(self.answers.len() as u64, at, alpha);
        let value = |rank: Option<u64>| {
            let at = usize::try_from(rank?.checked_sub(1)?).ok()?;
            self.answers.get(at).map(|answer| answer.value())
        };
        Some((value(lower).unwrap_or(0.0), value(upper).unwrap_or(f64::INFINITY), "order_statistics"))
    }

    /// In the resource's unit.
    pub(super) fn shown(&self, value: f64) -> f64 {
        let value = value / factor(self.resource);
        // What was added exactly has no digits beyond these.
        if value.abs() < 1e6 { (value * 1e9).round() / 1e9 } else { value }
    }

    /// A limit in the unit of the sample's numbers.
    pub(super) fn limit(&self, limit: f64) -> Option<Ratio> {
        Ratio::decimal(limit)?.times(Ratio::new(factor(self.resource) as i128, 1)?)
    }
}

/// Whether `value` is at most `limit`, exactly.
pub(super) fn within(value: Ratio, limit: Option<Ratio>) -> bool {
    limit.is_some_and(|limit| value.compare(limit) != Ordering::Greater)
}

/// `1` as a ratio plus a share, as decimals.
pub(super) fn one_and(share: f64) -> Option<Ratio> {
    let share = Ratio::decimal(share)?;
    let none = Ratio::new(0, SCALE)?;
    Ratio::new(1, 1)?.minus(none.minus(share)?)
}
