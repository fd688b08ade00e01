//! A part of the cases for one of several machines.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::Digest;

/// One of `total` parts. Which part a case falls into depends on its id alone: every case is in exactly one, and a new case moves no
/// other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Numbers")]
pub struct Shard {
    index: u32,
    total: u32,
}

#[derive(Deserialize)]
struct Numbers {
    index: u32,
    total: u32,
}

impl TryFrom<Numbers> for Shard {
    type Error = String;

    fn try_from(Numbers { index, total }: Numbers) -> Result<Self, String> {
        Self::new(index, total).ok_or_else(|| format!("there is no shard {index} of {total}"))
    }
}

impl Shard {
    /// **Inputs**: `index` from 1 to `total`. **Returns** `None` for anything else.
    pub fn new(index: u32, total: u32) -> Option<Self> {
        (1..=total).contains(&index).then_some(Self { index, total })
    }

    /// From 1.
    pub fn index(self) -> u32 {
        self.index
    }

    pub fn total(self) -> u32 {
        self.total
    }

    /// Whether the case of that id is in this part.
    pub fn holds(self, id: &str) -> bool {
        let hash = u128::from_le_bytes(*Digest::of(["shard", id]).bytes());
        hash.checked_rem(u128::from(self.total)) == Some(u128::from(self.index.saturating_sub(1)))
    }

    /// This part's share of a limit that is meant for the whole run, in whole units: the shares of all parts add up to `limit`.
    pub fn share(self, limit: u64) -> u64 {
        let total = u64::from(self.total.max(1));
        let (each, rest) = (limit / total, limit % total);
        each + u64::from(u64::from(self.index) <= rest)
    }

    /// The same for what can be divided at will (money, a rate).
    pub fn share_of(self, limit: f64) -> f64 {
        limit / f64::from(self.total.max(1))
    }
}

/// `2/8`.
impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{}` is no shard; write it as 2/8, the second of eight", text.escape_debug());
        let (index, total) = text.split_once('/').ok_or_else(wrong)?;
        let number = |digits: &str| {
            let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            digits.parse::<u32>().ok().filter(|_| plain)
        };
        let (index, total) = number(index).zip(number(total)).ok_or_else(wrong)?;
        Self::new(index, total)
            .ok_or_else(|| format!("there is no shard {index} of {total}; they count from 1 to {total}"))
    }
}

/// `2 of 8`.
impl fmt::Display for Shard {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} of {}", self.index, self.total)
    }
}

/// What a run's first line says of the part that it measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    #[serde(flatten)]
    pub shard: Shard,
    /// Cases in all shards together.
    pub of: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holders(id: &str, total: u32) -> Vec<u32> {
        (1..=total).filter(|index| Shard::new(*index, total).unwrap().holds(id)).collect()
    }

    #[test]
    fn every_case_is_in_exactly_one_shard_and_the_shards_are_about_equal() {
        for total in [1, 2, 3, 8, 100] {
            let mut sizes = vec![0_u32; total as usize + 1];
            for at in 0..4_000 {
                let holders = holders(&format!("q{at}"), total);
                assert_eq!(holders.len(), 1, "{at} of {total}");
                sizes[holders[0] as usize] += 1;
            }
            let fair = 4_000.0 / f64::from(total);
            let odd = sizes[1..].iter().find(|size| (f64::from(**size) - fair).abs() > 5.0 * fair.sqrt());
            assert_eq!(odd, None, "{total}: {sizes:?}");
        }
    }

    /// The assignment is part of the format: a shard of one version is merged by another.
    #[test]
    fn the_assignment_does_not_change() {
        let assigned: Vec<u32> =
            ["q1", "q2", "q3", "", "zh003", "c-0123456789ab"].iter().map(|id| holders(id, 8)[0]).collect();
        assert_eq!(assigned, ASSIGNED);
    }

    const ASSIGNED: [u32; 6] = [6, 7, 7, 4, 2, 7];

    #[test]
    fn shares_add_up_to_the_limit() {
        for (limit, total) in [(16, 8), (17, 8), (3, 8), (0, 2), (u64::MAX, 7)] {
            let shares: Vec<u64> = (1..=total).map(|index| Shard::new(index, total).unwrap().share(limit)).collect();
            assert_eq!(shares.iter().sum::<u64>(), limit);
            assert!(shares.iter().max().unwrap() - shares.iter().min().unwrap() <= 1);
        }
        let dollars: f64 = (1..=8).map(|index| Shard::new(index, 8).unwrap().share_of(5.0)).sum();
        assert!((dollars - 5.0).abs() < 1e-9);
    }

    #[test]
    fn only_shards_are_read_as_such() {
        assert_eq!("2/8".parse::<Shard>().unwrap().to_string(), "2 of 8");
        for wrong in ["", "2", "0/8", "9/8", "2/0", "-1/8", "+2/8", "2/8/8", " 2/8", "2 / 8", "a/b", "2/99999999999"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
        assert!(serde_json::from_str::<Part>("{\"index\":3,\"total\":2,\"of\":9}").is_err());
        let part = Part { shard: Shard::new(2, 8).unwrap(), of: 200 };
        let text = serde_json::to_string(&part).unwrap();
        assert_eq!(text, "{\"index\":2,\"total\":8,\"of\":200}");
        assert_eq!(serde_json::from_str::<Part>(&text).unwrap(), part);
    }
}
