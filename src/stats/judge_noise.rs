//! How noisy is a judge? (§18.1, §18.2)

use super::moment::{mean, variance};

/// Noise of a judge that scored the same outputs several times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JudgeNoise {
    /// Outputs that were scored at least twice.
    pub outputs: usize,
    /// σ²_J: mean over the outputs of the variance of their scores, unit scale.
    pub variance: f64,
    /// Standard error of the variance; `None` for a single output.
    pub standard_error: Option<f64>,
    /// Chance that two judgings of one output disagree; says so for binary scores only.
    pub flip_rate: f64,
}

/// The noise of a judge, from repeated scores.
///
/// **Inputs**: for each output its scores on the unit scale, finite; outputs with fewer than two scores do not count.
/// **Returns** variances ≥ 0. **Errors**: `None` where no output has two scores. **Source**: §18.1.
///
/// ```
/// use scoregate::stats::judge_noise;
/// let noise = judge_noise(&[vec![1.0, 0.0], vec![1.0, 1.0]]).unwrap();
/// assert!((noise.flip_rate - 0.5).abs() < 1e-12);
/// ```
pub fn judge_noise(repeats: &[Vec<f64>]) -> Option<JudgeNoise> {
    let each: Vec<f64> = repeats.iter().filter_map(|scores| variance(scores)).collect();
    let average = mean(&each)?;
    let standard_error = variance(&each).map(|of_variances| (of_variances / each.len() as f64).sqrt());
    Some(JudgeNoise { outputs: each.len(), variance: average, standard_error, flip_rate: 2.0 * average })
}

/// The share of the noise of trials that is the judge's own.
///
/// **Inputs**: σ²_J ≥ 0 from [`judge_noise`]; σ²_w ≥ 0, the variance of single scores within a case (judge and generation together).
/// **Returns** a share in [0, 1]; above ½ judging several times is cheaper than generating again, below ¼ it is wasted.
/// **Errors**: `None` where trials do not vary. **Source**: §18.2.
pub fn judge_share(of_judge: f64, within: f64) -> Option<f64> {
    (within > 0.0).then(|| (of_judge / within).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_judge_without_repeats_has_no_known_noise() {
        assert_eq!(judge_noise(&[]), None);
        assert_eq!(judge_noise(&[vec![1.0], vec![]]), None);
        let one = judge_noise(&[vec![0.0, 1.0], vec![1.0]]).unwrap();
        assert_eq!((one.outputs, one.variance, one.standard_error), (1, 0.5, None));
    }

    #[test]
    fn the_share_of_the_judge_is_a_share() {
        assert_eq!(judge_share(0.1, 0.2), Some(0.5));
        assert_eq!(judge_share(0.3, 0.2), Some(1.0));
        assert_eq!(judge_share(0.1, 0.0), None);
    }
}
