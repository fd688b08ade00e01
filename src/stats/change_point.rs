//! Where in a row of runs did the level change? (§16.1)

use super::distribution::student_t_cdf;

/// Runs that a level needs at least.
const SHORTEST: usize = 3;
/// Splits whose t differs by less are equally good: the first is taken.
const TIE: f64 = 1e-12;

/// A place where the level of a row of numbers changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangePoint {
    /// Position of the first number of the new level.
    pub index: usize,
    /// Size of the two-sample t over the split; infinite where nothing varies on either side.
    pub t: f64,
    /// Bonferroni over the splits of the stretch in which it was found.
    pub p: f64,
    /// Mean after the split less the mean before it, over that stretch.
    pub difference: f64,
}

/// Finds the places where the level changed, by binary segmentation.
///
/// **Inputs**: means of the same cases, oldest first, finite, any unit; `alpha` in (0, 1), the default of the specification is 0.01;
/// `min_effect` ≥ 0, the smallest difference that counts, in the same unit. Below six numbers nothing can be found.
/// **Returns** the points in the order of the row; with alpha = 0.01 a row without a change gives one in at most 1 % of the rows.
/// **Source**: §16.1; A. Sen and M. S. Srivastava, On tests for detecting change in mean, Ann. Statist. 3 (1975); the bound over
/// the splits is Bonferroni's.
///
/// ```
/// use scoregate::stats::change_points;
/// let means = [0.80, 0.81, 0.80, 0.81, 0.70, 0.71, 0.70, 0.71];
/// assert_eq!(change_points(&means, 0.01, 0.02).first().map(|point| point.index), Some(4));
/// ```
pub fn change_points(means: &[f64], alpha: f64, min_effect: f64) -> Vec<ChangePoint> {
    let mut found = Vec::new();
    // A stack instead of a recursion: a long history cannot exhaust anything.
    let mut stretches = vec![(0, means.len())];
    while let Some((start, end)) = stretches.pop() {
        let Some(point) = means.get(start..end).and_then(best_split) else { continue };
        if point.p <= alpha && point.difference.abs() >= min_effect {
            let middle = start + point.index;
            found.push(ChangePoint { index: middle, ..point });
            stretches.extend([(start, middle), (middle, end)]);
        }
    }
    found.sort_by_key(|point| point.index);
    found
}

/// The split with the largest |t|; `None` below six numbers.
fn best_split(row: &[f64]) -> Option<ChangePoint> {
    let last = row.len().checked_sub(SHORTEST)?;
    let mut best: Option<ChangePoint> = None;
    for index in SHORTEST..=last {
        let (before, after) = row.split_at_checked(index)?;
        let (t, difference) = two_sample(before, after);
        if best.is_none_or(|best| t > best.t + TIE) {
            best = Some(ChangePoint { index, t, p: 1.0, difference });
        }
    }
    let best = best?;
    let splits = (row.len() - 2 * SHORTEST + 1) as f64;
    let two_sided = 2.0 * student_t_cdf(-best.t, row.len() as f64 - 2.0);
    Some(ChangePoint { p: (splits * two_sided).min(1.0), ..best })
}

/// |t| with pooled variance, and the difference of the means.
fn two_sample(before: &[f64], after: &[f64]) -> (f64, f64) {
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    let squares = |part: &[f64], mean: f64| part.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>();
    let (first, second) = (mean(before), mean(after));
    let (left, right) = (before.len() as f64, after.len() as f64);
    let pooled = (squares(before, first) + squares(after, second)) / (left + right - 2.0);
    let difference = second - first;
    // Equal numbers whose mean is not exact leave a variance of some 1e-33: that is no variance.
    if pooled <= 1e-28 * (first * first).max(second * second) {
        let alike = difference.abs() <= 1e-14 * first.abs().max(second.abs());
        return if alike { (0.0, 0.0) } else { (f64::INFINITY, difference) };
    }
    (difference.abs() / (pooled * (1.0 / left + 1.0 / right)).sqrt(), difference)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_without_noise_is_found_at_its_first_run() {
        let points = change_points(&[0.8, 0.8, 0.8, 0.7, 0.7, 0.7], 0.01, 0.0);
        assert_eq!(points.len(), 1);
        assert_eq!((points[0].index, points[0].p), (3, 0.0));
        assert!(points[0].t.is_infinite() && (points[0].difference + 0.1).abs() < 1e-12);
    }

    #[test]
    fn a_short_or_flat_row_has_no_change() {
        assert!(change_points(&[], 0.01, 0.0).is_empty());
        assert!(change_points(&[0.9, 0.1, 0.9, 0.1, 0.9], 0.5, 0.0).is_empty());
        assert!(change_points(&[0.1; 50], 0.5, 0.0).is_empty());
    }

    #[test]
    fn a_change_that_is_too_small_to_matter_is_not_reported() {
        let row = [0.8, 0.8, 0.8, 0.79, 0.79, 0.79];
        assert_eq!(change_points(&row, 0.01, 0.005).len(), 1);
        assert!(change_points(&row, 0.01, 0.02).is_empty());
    }
}
