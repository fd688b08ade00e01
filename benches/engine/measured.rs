//! What one process took, and the middle of several.

use serde::{Deserialize, Serialize};

/// A whole process, from its start to its end.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Measured {
    /// Seconds.
    pub wall: f64,
    /// Seconds of CPU, user and system.
    pub cpu: f64,
    /// Peak of the resident set, MiB.
    pub rss: f64,
    /// `None`: killed.
    pub code: Option<i32>,
}

/// The median; 0 of nothing.
pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match (values.get(middle), middle.checked_sub(1).and_then(|before| values.get(before))) {
        (Some(upper), Some(lower)) if values.len().is_multiple_of(2) => f64::midpoint(*upper, *lower),
        (Some(middle), _) => *middle,
        (None, _) => 0.0,
    }
}
