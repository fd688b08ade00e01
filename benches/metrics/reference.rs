//! The other side: `reference.py`, which measures the same texts.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::{Command, Stdio};

use serde::Deserialize;
use serde_json::json;

use crate::Error;
use crate::texts::Pair;

/// Seconds a pair, and the score of each pair.
#[derive(Clone, Debug, Deserialize)]
pub struct Measured {
    pub seconds: f64,
    pub scores: Vec<f64>,
}

/// By the rows' names.
///
/// # Errors
/// Python does not start, lacks a package, or fails.
pub fn measure(
    python: &str,
    repeat: usize,
    texts: &BTreeMap<&'static str, Vec<Pair>>,
) -> Result<BTreeMap<String, Measured>, Error> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/metrics/reference.py");
    let mut child = Command::new(python)
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{python}: {error}"))?;
    let request = serde_json::to_vec(&json!({"repeat": repeat, "texts": texts}))?;
    child.stdin.take().ok_or("Python has no input")?.write_all(&request)?;
    let output = child.wait_with_output()?;
    if !output.status.success() {
        let packages = "tests/scripts/reference_metrics.txt";
        return Err(format!("{python} {script} failed ({}); it needs the packages of {packages}", output.status).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// # Errors
/// Python does not start.
pub fn version(python: &str) -> Result<String, Error> {
    let code = "import platform; print(platform.python_version())";
    let output = Command::new(python).args(["-c", code]).output()?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The median; 0 of nothing.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}
