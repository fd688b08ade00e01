//! The table that is printed.

pub struct Line {
    pub what: String,
    pub pairs: usize,
    pub package: &'static str,
    /// Time a pair.
    pub theirs: String,
    pub mine: String,
    pub times: String,
    pub target: String,
    /// Largest difference of two scores.
    pub apart: String,
    pub pass: bool,
}

/// Prints a Markdown table with aligned columns.
pub fn print(lines: &[Line]) {
    let head = ["metric", "pairs", "reference", "its time a pair", "scoregate's", "faster", "target", "differ by", ""];
    let mut cells: Vec<[String; 9]> = vec![head.map(str::to_owned)];
    cells.extend(lines.iter().map(|line| {
        [
            line.what.clone(),
            line.pairs.to_string(),
            line.package.to_owned(),
            line.theirs.clone(),
            line.mine.clone(),
            line.times.clone(),
            line.target.clone(),
            line.apart.clone(),
            if line.pass { "pass" } else { "MISS" }.to_owned(),
        ]
    }));
    let width = |at: usize| cells.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..9).map(|at| width(at).unwrap_or(0)).collect();
    for (number, row) in cells.iter().enumerate() {
        let padded = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        println!("| {} |", padded.collect::<Vec<_>>().join(" | "));
        if number == 0 {
            println!("|{}|", widths.iter().map(|width| "-".repeat(width + 2)).collect::<Vec<_>>().join("|"));
        }
    }
}
