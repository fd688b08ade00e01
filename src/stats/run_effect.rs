//! Do whole runs differ by more than their cases' noise? (§15.3)

use super::distribution::{chi_squared_tail, normal_quantile, student_t_cdf};

/// Below this the runs are taken to differ.
const TRIGGER: f64 = 0.05;

/// Between-run variance against what case noise explains.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunEffect {
    /// Variance of the run means.
    pub between: f64,
    /// Variance of a run mean that case noise alone gives.
    pub within: f64,
    /// `between / within`; `None` where no case varies.
    pub ratio: Option<f64>,
    /// P(χ² ≥ ratio·(R − 1)).
    pub p: f64,
}

/// Compares the spread of run means with the spread of single cases.
///
/// **Inputs**: R ≥ 2 runs, each the scores of the same n ≥ 1 cases (trials averaged), unit scale.
/// **Returns** p = 1 where there is nothing to compare. **Source**: §15.3.
pub fn run_effect(runs: &[Vec<f64>]) -> RunEffect {
    let count = runs.len() as f64;
    let cases = runs.first().map_or(0, Vec::len);
    let nothing = RunEffect { between: 0.0, within: 0.0, ratio: None, p: 1.0 };
    if runs.len() < 2 || cases == 0 {
        return nothing;
    }
    let size = cases as f64;
    let means: Vec<f64> = runs.iter().map(|run| run.iter().sum::<f64>() / size).collect();
    let between = variance(&means);
    let of_case = |case: usize| {
        let scores: Vec<f64> = runs.iter().filter_map(|run| run.get(case).copied()).collect();
        variance(&scores)
    };
    let within = (0..cases).map(of_case).sum::<f64>() / size / size;
    if within == 0.0 {
        return RunEffect { between, ..nothing };
    }
    let ratio = between / within;
    RunEffect { between, within, ratio: Some(ratio), p: chi_squared_tail(ratio * (count - 1.0), count - 1.0) }
}

/// Sample variance with n − 1; 0 below two numbers.
fn variance(numbers: &[f64]) -> f64 {
    let n = numbers.len() as f64;
    if numbers.len() < 2 {
        return 0.0;
    }
    let mean = numbers.iter().sum::<f64>() / n;
    numbers.iter().map(|number| (number - mean) * (number - mean)).sum::<f64>() / (n - 1.0)
}

/// Variance that runs add to a paired change beyond case noise.
///
/// **Inputs** as [`run_effect`]. **Returns** 0 with fewer than five runs or two cases, or where runs do not differ.
/// **Source**: §15.3.
pub fn run_variance(runs: &[Vec<f64>]) -> f64 {
    if runs.len() < 5 || runs.first().is_none_or(|run| run.len() < 2) {
        return 0.0;
    }
    let effect = run_effect(runs);
    if effect.p >= TRIGGER {
        return 0.0;
    }
    (effect.between - effect.within).max(0.0) * (1.0 + 1.0 / runs.len() as f64)
}

/// The mean guard's p, softened where runs differ.
///
/// **Inputs**: p in [0, 1]; the units (§4); v_run from [`run_variance`]; the number of baseline runs (≥ 2 where v_run > 0).
/// **Returns** p itself where v_run = 0, else at least p. **Source**: §15.3.
pub fn adjust_for_runs(p: f64, units: &[f64], run_variance: f64, runs: usize) -> f64 {
    if run_variance <= 0.0 || units.is_empty() || runs < 2 {
        return p;
    }
    let n = units.len() as f64;
    let of_cases = units.iter().map(|unit| unit * unit).sum::<f64>() / (n * n);
    let shrink = (of_cases / (of_cases + run_variance)).sqrt();
    let z = normal_quantile(p.clamp(1e-15, 1.0 - 1e-15)) * shrink;
    p.max(student_t_cdf(z, runs as f64 - 1.0))
}
