//! Did stable cases break, more than flakiness explains? (§7)

use super::binomial::binomial_tail;

/// What the guard counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BreakCount {
    /// Cases where exactly one of the R + 1 runs lies far below all others.
    pub lone_lows: u64,
    /// Of these, the ones whose low run is the candidate.
    pub breaks: u64,
    /// Breaks that flakiness alone explains: lone lows / (R + 1).
    pub expected: f64,
    /// P(X > breaks) + ½ P(X = breaks) without a change; small: too many.
    pub p_mid: f64,
}

/// Which of several scores lies alone at the bottom.
///
/// **Inputs**: a case's scores on the unit scale, baseline runs first, the candidate last; `severity` in (0, 1].
/// **Returns** the position of the lowest score where it is at least `severity` (to 1e-9) below the second lowest.
/// **Source**: §7.2.
pub fn lone_low(scores: &[f64], severity: f64) -> Option<usize> {
    let (mut lowest, mut second, mut at) = (f64::INFINITY, f64::INFINITY, None);
    for (position, score) in scores.iter().enumerate() {
        if *score < lowest {
            (second, lowest, at) = (lowest, *score, Some(position));
        } else if *score < second {
            second = *score;
        }
    }
    at.filter(|_| second.is_finite() && second - lowest >= severity - 1e-9)
}

/// Counts breaks and compares them with what flakiness produces.
///
/// **Inputs**: for each case its scores (R ≥ 1 baseline runs, then the candidate; all equally many) and its cluster.
/// **Returns** p = 1 where no case has a lone low. **Source**: §7.2, §7.3.
pub fn break_guard(cases: &[(Vec<f64>, Option<usize>)], severity: f64) -> BreakCount {
    let runs = cases.first().map_or(1, |(scores, _)| scores.len());
    let lows: Vec<(usize, Option<usize>)> =
        cases.iter().filter_map(|(scores, cluster)| lone_low(scores, severity).map(|low| (low, *cluster))).collect();
    let lone_lows = lows.len() as u64;
    let breaks = lows.iter().filter(|(low, _)| low + 1 == runs).count() as u64;
    let expected = lone_lows as f64 / runs as f64;
    let p_mid = if lows.iter().all(|(_, cluster)| cluster.is_none()) {
        break_tail(lone_lows, breaks, runs as u64)
    } else {
        clustered_tail(&lows, runs, breaks)
    };
    BreakCount { lone_lows, breaks, expected, p_mid }
}

/// P(X > breaks) + ½ P(X = breaks) for X ~ Bin(lone_lows, 1/runs); 1 where there is no lone low.
///
/// **Source**: §7.3; `runs` counts the candidate too.
pub fn break_tail(lone_lows: u64, breaks: u64, runs: u64) -> f64 {
    if lone_lows == 0 {
        return 1.0;
    }
    if runs < 2 {
        return 0.5;
    }
    let (above, at) = binomial_tail(lone_lows, 1.0 / runs as f64, breaks);
    above + 0.5 * at
}

/// The cases of a cluster break together: which run is low is drawn once a cluster (§7.3).
fn clustered_tail(lows: &[(usize, Option<usize>)], runs: usize, breaks: u64) -> f64 {
    let mut counts: std::collections::BTreeMap<usize, Vec<usize>> = std::collections::BTreeMap::new();
    let mut alone = Vec::new();
    for (low, cluster) in lows {
        let mut single = vec![0; runs];
        let count = match cluster {
            Some(cluster) => counts.entry(*cluster).or_insert_with(|| vec![0; runs]),
            None => &mut single,
        };
        if let Some(slot) = count.get_mut(*low) {
            *slot += 1;
        }
        if cluster.is_none() {
            alone.push(single);
        }
    }
    let mut masses = vec![1.0_f64];
    for count in counts.values().chain(&alone) {
        let largest = count.iter().copied().max().unwrap_or(0);
        let mut next = vec![0.0; masses.len() + largest];
        for lows in count {
            for (to, from) in next.iter_mut().skip(*lows).zip(&masses) {
                *to += from / runs as f64;
            }
        }
        masses = next;
    }
    let at = usize::try_from(breaks).unwrap_or(usize::MAX);
    let above: f64 = masses.iter().skip(at.saturating_add(1)).sum();
    above + 0.5 * masses.get(at).copied().unwrap_or(0.0)
}
