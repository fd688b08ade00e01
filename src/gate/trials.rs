//! How the trials of a case become the score that limits are read on (F41).
//!
//! The comparison with a baseline, the break guard and must-pass cases do not read it: a majority or a best-of is another quantity for
//! another number of trials, so they compare means (statistics §2.1, §2.3) and trials (§12).
//!
//! A trial without a score is neither a good nor a bad one: where it could change what the trials come to, the case counts as not
//! measured.

use std::sync::Arc;

use super::policy::Policy;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::domain::{Direction, MetricSpec};
use crate::stats::CaseMean;
use crate::suite::Block;
use crate::text::pointer::escape;

/// `trials` of a metric's rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TrialsRule {
    /// The mean of the valid trials.
    #[default]
    Mean,
    /// Their median.
    Median,
    /// The score that more than half of the trials reach.
    Majority,
    /// The best trial.
    Any,
    /// The worst trial.
    All,
    /// The score that `wanted` of the first `of` trials reach.
    AtLeast { wanted: usize, of: usize },
    /// pass^k: the mean, over every choice of k of the valid trials, of the worst of them. Of passes and failures it is the chance that k
    /// trials all pass. **Source**: Yao et al., *tau-bench*, arXiv 2406.12045, 2024, section 3.
    AllOf(usize),
}

impl TrialsRule {
    /// Reads `mean`, `median`, `majority`, `any`, `all`, `2-of-3`, `pass^3`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let number = |text: &str| text.parse::<usize>().ok().filter(|number| (1..=1_000).contains(number));
        Some(match text {
            "mean" => Self::Mean,
            "median" => Self::Median,
            "majority" => Self::Majority,
            "any" => Self::Any,
            "all" => Self::All,
            other => match (other.split_once("-of-"), other.strip_prefix("pass^")) {
                (Some((wanted, of)), _) => {
                    let (wanted, of) = (number(wanted)?, number(of)?);
                    (wanted <= of).then_some(Self::AtLeast { wanted, of })?
                }
                (None, Some(k)) => Self::AllOf(number(k)?),
                (None, None) => return None,
            },
        })
    }

    /// As the suite writes it.
    pub(crate) fn word(self) -> String {
        match self {
            Self::Mean => "mean".to_owned(),
            Self::Median => "median".to_owned(),
            Self::Majority => "majority".to_owned(),
            Self::Any => "any".to_owned(),
            Self::All => "all".to_owned(),
            Self::AtLeast { wanted, of } => format!("{wanted}-of-{of}"),
            Self::AllOf(k) => format!("pass^{k}"),
        }
    }

    /// Whether cases of `trials` trials can be read by it.
    fn fits(self, trials: usize) -> bool {
        match self {
            Self::Mean | Self::Median | Self::Majority | Self::Any | Self::All => true,
            Self::AtLeast { of, .. } => trials == of,
            Self::AllOf(k) => trials >= k,
        }
    }

    /// The score of a case with these trials, in their order; `None`: it is not known what they come to.
    pub(crate) fn score(self, trials: &[Option<f64>], spec: &MetricSpec) -> Option<CaseMean> {
        let best_first = |trials: &[Option<f64>]| {
            let mut valid: Vec<f64> = trials.iter().flatten().copied().collect();
            valid.sort_by(|left, right| match spec.direction {
                Direction::Higher => right.total_cmp(left),
                Direction::Lower => left.total_cmp(right),
            });
            valid
        };
        let valid = best_first(trials);
        let (all, half) = (trials.len(), trials.len() / 2);
        match self {
            Self::Mean => CaseMean::of(&valid),
            Self::Median => decided(&valid, all, spec, &|scores| {
                let middle = scores.len().checked_sub(1)?;
                CaseMean::of(&[*scores.get(middle / 2)?, *scores.get(middle.div_ceil(2))?])
            }),
            Self::Majority => reached(&valid, half + 1, all, spec),
            Self::Any => reached(&valid, 1, all, spec),
            Self::All => reached(&valid, all, all, spec),
            Self::AtLeast { wanted, of } => {
                let first = best_first(trials.get(..of).unwrap_or(trials));
                reached(&first, wanted, of, spec)
            }
            Self::AllOf(k) => decided(&valid, all, spec, &|scores| worst_of(scores, k)),
        }
    }
}

/// The score that `wanted` of `of` trials reach, where the missing ones cannot change it. `valid`: the others, best first.
fn reached(valid: &[f64], wanted: usize, of: usize, spec: &MetricSpec) -> Option<CaseMean> {
    let (worst, best) = ends(spec);
    let missing = of.checked_sub(valid.len())?;
    let at = wanted.checked_sub(1)?;
    let if_bad = valid.get(at).copied().unwrap_or(worst);
    let if_good = at.checked_sub(missing).map_or(Some(best), |at| valid.get(at).copied())?;
    if valid.is_empty() || if_bad != if_good {
        return None;
    }
    CaseMean::of(&[if_bad])
}

/// The worst and the best score there is.
fn ends(spec: &MetricSpec) -> (f64, f64) {
    let (lo, hi) = spec.kind.range();
    match spec.direction {
        Direction::Higher => (lo, hi),
        Direction::Lower => (hi, lo),
    }
}

/// What `of` trials come to, where the missing ones cannot change it. `valid`: the others, best first.
fn decided(
    valid: &[f64],
    of: usize,
    spec: &MetricSpec,
    come_to: &dyn Fn(&[f64]) -> Option<CaseMean>,
) -> Option<CaseMean> {
    let missing = of.checked_sub(valid.len())?;
    let (worst, best) = ends(spec);
    let with_bad: Vec<f64> = valid.iter().copied().chain(std::iter::repeat_n(worst, missing)).collect();
    let with_good: Vec<f64> = std::iter::repeat_n(best, missing).chain(valid.iter().copied()).collect();
    let if_bad = come_to(&with_bad)?;
    let same = !valid.is_empty() && come_to(&with_good)?.value() == if_bad.value();
    same.then_some(if_bad)
}

/// Choices up to which the mean over all of them is taken exactly.
const CHOICES: f64 = 4_096.0;

/// The mean of the worst of `k`, over every choice of `k` of the scores, which are sorted best first.
fn worst_of(scores: &[f64], k: usize) -> Option<CaseMean> {
    let n = scores.len();
    if k == 0 || k > n {
        return None;
    }
    // In how many choices the one at rank r (from 1) is the worst: C(r−1, k−1), from rank k on.
    let mut choices = 1.0;
    let mut all = 0.0;
    let mut worst = Vec::with_capacity(n);
    for (at, score) in scores.iter().enumerate().skip(k - 1) {
        worst.push((*score, choices));
        all += choices;
        choices *= (at + 1) as f64 / (at + 2 - k) as f64;
    }
    if all <= CHOICES {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number below 4,097")]
        let each = |(score, choices): (f64, f64)| std::iter::repeat_n(score, choices.round() as usize);
        return CaseMean::of(&worst.into_iter().flat_map(each).collect::<Vec<f64>>());
    }
    CaseMean::of(&[worst.into_iter().map(|(score, choices)| score * (choices / all)).sum()])
}

impl Policy {
    /// The problems of rules that cannot be read on cases that are asked as often as a look of the plan asks them.
    pub fn trials_problems(&self, gate: &Block, looks: &[u32]) -> Diagnostics {
        let mut problems = Diagnostics::default();
        for (name, rules) in &self.metrics {
            let fits = |trials: &&u32| rules.trials.fits(usize::try_from(**trials).unwrap_or(usize::MAX));
            if let Some(trials) = looks.iter().find(|trials| !fits(trials)) {
                problems.push(unfit(gate, name, rules.trials, *trials));
            }
        }
        problems
    }
}

fn unfit(gate: &Block, name: &Arc<str>, rule: TrialsRule, trials: u32) -> Diagnostic {
    let at = format!("/metrics/{}/trials", escape(name));
    let message = format!("`{name}` is read by `{}`, and every case is asked {trials} times", rule.word());
    let message = if trials == 1 { message.replace("1 times", "once") } else { message };
    let needed = match rule {
        TrialsRule::AtLeast { of, .. } => of,
        TrialsRule::AllOf(k) => k,
        TrialsRule::Mean | TrialsRule::Median | TrialsRule::Majority | TrialsRule::Any | TrialsRule::All => 1,
    };
    gate.problem(&at, "too-few-trials", message).help(format!("set `run.trials: {needed}`"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::ScoreKind;

    fn spec(direction: Direction) -> MetricSpec {
        MetricSpec { name: "m".into(), kind: ScoreKind::UNIT, direction, pass_mark: None, fingerprint: None }
    }

    fn read(rule: &str, trials: &[Option<f64>]) -> Option<f64> {
        TrialsRule::parse(rule).unwrap().score(trials, &spec(Direction::Higher)).map(CaseMean::value)
    }

    #[test]
    fn words_are_read_and_nothing_else() {
        for word in ["mean", "median", "majority", "any", "all", "2-of-3", "pass^3"] {
            assert_eq!(TrialsRule::parse(word).unwrap().word(), word);
        }
        for wrong in ["", "most", "3-of-2", "0-of-3", "2of3", "pass^0", "pass^", "pass^-1", "2-of-", "-of-3"] {
            assert_eq!(TrialsRule::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn passes_and_failures_come_to_what_the_words_say() {
        let (yes, no) = (Some(1.0), Some(0.0));
        for (trials, majority, any, all, two_of_three, pass_2) in [
            ([yes, yes, yes], 1.0, 1.0, 1.0, 1.0, 1.0),
            ([yes, no, yes], 1.0, 1.0, 0.0, 1.0, 1.0 / 3.0),
            ([no, no, yes], 0.0, 1.0, 0.0, 0.0, 0.0),
            ([no, no, no], 0.0, 0.0, 0.0, 0.0, 0.0),
        ] {
            assert_eq!(read("majority", &trials), Some(majority));
            assert_eq!(read("any", &trials), Some(any));
            assert_eq!(read("all", &trials), Some(all));
            assert_eq!(read("2-of-3", &trials), Some(two_of_three));
            assert!((read("pass^2", &trials).unwrap() - pass_2).abs() < 1e-8, "{trials:?}");
        }
        assert_eq!(read("majority", &[yes, no]), Some(0.0), "half is no majority");
        assert_eq!(read("median", &[yes, no]), Some(0.5));
        assert_eq!(read("median", &[Some(0.2), Some(0.9), Some(0.3)]), Some(0.3));
        assert_eq!(read("majority", &[Some(0.2), Some(0.9), Some(0.3)]), Some(0.3));
    }

    #[test]
    fn a_missing_trial_is_neither_good_nor_bad() {
        let (yes, no) = (Some(1.0), Some(0.0));
        assert_eq!(read("any", &[yes, None, None]), Some(1.0));
        assert_eq!(read("any", &[no, None, no]), None);
        assert_eq!(read("all", &[yes, None, yes]), None);
        assert_eq!(read("all", &[no, None, yes]), Some(0.0));
        assert_eq!(read("2-of-3", &[yes, None, yes]), Some(1.0));
        assert_eq!(read("2-of-3", &[yes, None, no]), None);
        assert_eq!(read("2-of-3", &[yes, yes]), Some(1.0), "the third was not asked");
        assert_eq!(read("pass^3", &[yes, None, yes]), None);
        assert_eq!(read("pass^2", &[yes, None, yes]), None, "with a failure it would be a third");
        assert_eq!(read("pass^2", &[no, None, no]), Some(0.0));
        assert_eq!([read("median", &[yes, None, no]), read("median", &[yes, None, yes])], [None, Some(1.0)]);
        assert_eq!(read("mean", &[yes, None, no]), Some(0.5));
        for rule in ["mean", "median", "majority", "any", "all", "1-of-2", "pass^1"] {
            assert_eq!(read(rule, &[None, None]), None, "{rule}");
        }
    }

    #[test]
    fn where_lower_is_better_the_best_is_the_lowest() {
        let trials = [Some(0.2), Some(0.9), Some(0.3)];
        let read = |rule: TrialsRule| rule.score(&trials, &spec(Direction::Lower)).map(CaseMean::value);
        assert_eq!([read(TrialsRule::Any), read(TrialsRule::All)], [Some(0.2), Some(0.9)]);
    }

    proptest! {
        /// pass^k against every choice of k trials, one by one.
        #[test]
        fn pass_k_is_the_mean_of_the_worst_of_every_choice(scores in proptest::collection::vec(0.0..=1.0_f64, 1..9), k in 1..9_usize) {
            prop_assume!(k <= scores.len());
            let mut worst = Vec::new();
            for choice in 0_u32..1 << scores.len() {
                if choice.count_ones() as usize == k {
                    let chosen = scores.iter().enumerate().filter(|(at, _)| choice >> at & 1 == 1).map(|(_, score)| *score);
                    worst.push(chosen.fold(1.0, f64::min));
                }
            }
            let expected = worst.iter().sum::<f64>() / worst.len() as f64;
            let trials: Vec<Option<f64>> = scores.iter().copied().map(Some).collect();
            let found = read(&format!("pass^{k}"), &trials).unwrap();
            prop_assert!((found - expected).abs() < 1e-8, "{} {}", found, expected);
        }

        /// Whatever is missing, a decided case is decided as it would be with every possible value of the missing trials.
        #[test]
        fn what_is_decided_stays_decided(trials in proptest::collection::vec(proptest::option::of(0..=1_u8), 1..6), fill in 0..=1_u8, m in 1..6_usize) {
            prop_assume!(m <= trials.len());
            let known: Vec<Option<f64>> = trials.iter().map(|trial| trial.map(f64::from)).collect();
            let filled: Vec<Option<f64>> = trials.iter().map(|trial| Some(f64::from(trial.unwrap_or(fill)))).collect();
            for rule in ["majority".to_owned(), "any".to_owned(), "all".to_owned(), format!("{m}-of-{}", trials.len()), "median".to_owned(), format!("pass^{m}")] {
                if let Some(found) = read(&rule, &known) {
                    prop_assert_eq!(Some(found), read(&rule, &filled), "{}", rule);
                }
            }
        }
    }
}
