//! How often cases that must pass fail by bad luck (§12.2).

/// A case's chance to fail one attempt although nothing changed.
///
/// **Inputs**: failures among `trials` unchanged attempts. **Returns** (failures + ½)/(trials + 1). **Source**: §12.2.
pub fn flake_rate(failures: u64, trials: u64) -> f64 {
    (failures as f64 + 0.5) / (trials as f64 + 1.0)
}

/// Chance that a case fails its must-pass rule by bad luck, and that any of them does.
///
/// **Inputs**: per-attempt flake rates in [0, 1]; `attempts` ≥ 1: the first, and as many more as a failure is given (§12.1 has 3).
/// **Returns** (per case, family). With one attempt a failure is final; otherwise one more attempt has to fail too.
/// **Source**: §12.2.
pub fn must_pass_false_alarm(flakes: &[f64], attempts: u32) -> (Vec<f64>, f64) {
    let more = attempts.saturating_sub(1);
    let again = |flake: f64| if more == 0 { 1.0 } else { 1.0 - libm::pow(1.0 - flake, f64::from(more)) };
    let per_case: Vec<f64> = flakes.iter().map(|flake| flake * again(*flake)).collect();
    let none = per_case.iter().fold(1.0, |none, chance| none * (1.0 - chance));
    (per_case, 1.0 - none)
}
