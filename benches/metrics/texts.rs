//! The texts: answers and references as the golden vectors have them, and long ones made up.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::Error;

/// Answer and reference.
pub type Pair = (String, String);

/// The sets by name.
///
/// # Errors
/// The vectors cannot be read.
pub fn all() -> Result<BTreeMap<&'static str, Vec<Pair>>, Error> {
    let path = format!("{}/fixtures/metrics/texts.jsonl", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
    let mut short = Vec::new();
    for line in text.lines().skip(1) {
        let row: Value = serde_json::from_str(line)?;
        let group = row["id"].as_str().unwrap_or_default();
        // Latin texts: rouge-score drops all others, which would be no comparison.
        if ["peps-0", "peps-1", "peps-2", "passage-"].iter().any(|begin| group.starts_with(begin)) {
            let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
            let pair = (text("answer"), text("reference"));
            if !pair.0.chars().chain(pair.1.chars()).any(|c| c >= '\u{370}' && c.is_alphanumeric()) {
                short.push(pair);
            }
        }
    }
    Ok(BTreeMap::from([("answers", short), ("400 words", long())]))
}

/// Twelve pairs of 400 words, half of which both have, in an order of their own.
fn long() -> Vec<Pair> {
    let mut luck = 7_u64;
    let mut random = move |below: u64| {
        luck = luck.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (luck >> 33) % below
    };
    let word = |number: u64| {
        let syllables = ["ba", "do", "ke", "li", "mu", "na", "pe", "ro", "si", "tu"];
        let at = |digit: u64| syllables.get((digit % 10) as usize).copied().unwrap_or_default();
        format!("{}{}{}", at(number), at(number / 10), at(number / 100))
    };
    let mut pairs = Vec::new();
    for _ in 0..12 {
        let reference: Vec<String> = (0..400).map(|_| word(random(700))).collect();
        let answer: Vec<String> =
            reference.iter().map(|known| if random(2) == 0 { known.clone() } else { word(random(700)) }).collect();
        pairs.push((answer.join(" "), reference.join(" ")));
    }
    pairs
}
