//! Several tests at once (§8.2, §14.1).

/// Positions in ascending order of p, equal ones as given.
fn ascending(p: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|left, right| {
        let at = |position: &usize| p.get(*position).copied().unwrap_or(1.0);
        at(left).total_cmp(&at(right)).then(left.cmp(right))
    });
    order
}

/// Holm's adjusted p-values: rejecting where they are ≤ alpha keeps the chance of any false alarm at alpha.
///
/// **Inputs**: p-values in [0, 1], in the order that breaks ties; may be empty. **Returns** the adjusted ones, in input order.
/// **Source**: §8.2; S. Holm, A simple sequentially rejective multiple test procedure, Scand. J. Statist. 6 (1979).
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut adjusted = vec![0.0; p.len()];
    let mut running: f64 = 0.0;
    for (rank, position) in ascending(p).into_iter().enumerate() {
        let value = p.get(position).copied().unwrap_or(1.0);
        running = running.max((value * (p.len() - rank) as f64).min(1.0));
        if let Some(slot) = adjusted.get_mut(position) {
            *slot = running;
        }
    }
    adjusted
}

/// Benjamini and Hochberg's adjusted p-values: showing where they are ≤ q keeps the share of false finds at q.
///
/// **Inputs**, **Returns** as [`holm`]. **Source**: §14.1; Benjamini and Hochberg, J. R. Statist. Soc. B 57 (1995).
pub fn benjamini_hochberg(p: &[f64]) -> Vec<f64> {
    let mut adjusted = vec![0.0; p.len()];
    let mut running: f64 = 1.0;
    for (rank, position) in ascending(p).into_iter().enumerate().rev() {
        let value = p.get(position).copied().unwrap_or(1.0);
        running = running.min(value * p.len() as f64 / (rank + 1) as f64);
        if let Some(slot) = adjusted.get_mut(position) {
            *slot = running;
        }
    }
    adjusted
}
