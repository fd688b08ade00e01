//! What an answer takes (time, tokens, money), and how the numbers of many answers become one.

use serde::{Deserialize, Serialize};

/// What is counted of every answer of a target. Calls of judges are not among it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    /// Of answers that were asked for in this run; one from the ledger was timed in an earlier one.
    Latency,
    Tokens,
    Cost,
}

impl Resource {
    /// As the suite names it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::Tokens => "tokens",
            Self::Cost => "cost",
        }
    }

    pub fn unit(self) -> Unit {
        match self {
            Self::Latency => Unit::Milliseconds,
            Self::Tokens => Unit::Tokens,
            Self::Cost => Unit::Usd,
        }
    }
}

/// The scale of a rule about resources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    #[serde(rename = "ms")]
    Milliseconds,
    #[serde(rename = "tokens")]
    Tokens,
    #[serde(rename = "usd")]
    Usd,
}

impl Unit {
    /// What stands before and behind the number.
    pub fn affixes(self) -> (&'static str, &'static str) {
        match self {
            Self::Milliseconds => ("", " ms"),
            Self::Tokens => ("", " tokens"),
            Self::Usd => ("$", ""),
        }
    }

    /// Decimal places of a value at least.
    pub fn places(self, value: f64) -> usize {
        match self {
            Self::Milliseconds | Self::Tokens => 0,
            Self::Usd if value.abs() < 0.1 => 4,
            Self::Usd => 2,
        }
    }
}

/// How many numbers become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Statistic {
    /// Over cases, of the mean of each one's answers.
    Mean,
    /// Of all answers, by nearest rank.
    P50,
    P95,
    /// The largest of all answers.
    CaseMax,
    /// Over cases, of the mean of each one's answers: what one answer to every case takes.
    Total,
}

impl Statistic {
    pub const ALL: [Self; 5] = [Self::Mean, Self::P50, Self::P95, Self::CaseMax, Self::Total];

    /// As the suite names it.
    pub fn key(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::P50 => "p50",
            Self::P95 => "p95",
            Self::CaseMax => "case_max",
            Self::Total => "total",
        }
    }

    /// In a sentence.
    pub fn word(self) -> &'static str {
        match self {
            Self::CaseMax => "each answer",
            Self::Mean | Self::P50 | Self::P95 | Self::Total => self.key(),
        }
    }
}

/// What the answers of one case took: run by run, trial by trial. A run or a trial that does not say it has no number.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Taken {
    #[serde(default, skip_serializing_if = "is_silent")]
    pub latency_ms: Vec<Vec<f64>>,
    #[serde(default, skip_serializing_if = "is_silent")]
    pub tokens: Vec<Vec<f64>>,
    #[serde(default, skip_serializing_if = "is_silent")]
    pub cost_usd: Vec<Vec<f64>>,
}

fn is_silent(runs: &[Vec<f64>]) -> bool {
    runs.iter().all(Vec::is_empty)
}

impl Taken {
    pub fn of(&self, resource: Resource) -> &[Vec<f64>] {
        match resource {
            Resource::Latency => &self.latency_ms,
            Resource::Tokens => &self.tokens,
            Resource::Cost => &self.cost_usd,
        }
    }

    /// No run says anything.
    pub fn is_empty(&self) -> bool {
        [&self.latency_ms, &self.tokens, &self.cost_usd].into_iter().all(|runs| is_silent(runs))
    }

    /// With one entry for each of `runs`, so that a list that nobody filled has its place too.
    pub fn pad(&mut self, runs: usize) {
        for list in [&mut self.latency_ms, &mut self.tokens, &mut self.cost_usd] {
            list.resize(runs, Vec::new());
        }
    }

    /// Those of later runs behind these.
    pub fn append(&mut self, later: Self) {
        let Self { latency_ms, tokens, cost_usd } = later;
        self.latency_ms.extend(latency_ms);
        self.tokens.extend(tokens);
        self.cost_usd.extend(cost_usd);
    }

    /// Without the oldest runs.
    pub fn forget(&mut self, oldest: usize) {
        for list in [&mut self.latency_ms, &mut self.tokens, &mut self.cost_usd] {
            list.drain(..oldest.min(list.len()));
        }
    }
}
