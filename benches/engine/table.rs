//! The table that is printed.

/// One line: what was wanted, what came, and whether that is enough.
pub struct Row {
    pub name: &'static str,
    pub what: String,
    pub target: String,
    pub measured: String,
    /// What the floor took, where it is compared with.
    pub floor: String,
    pub pass: bool,
}

/// Prints the rows as a Markdown table with aligned columns.
pub fn print(rows: &[Row]) {
    let head = ["#", "what", "target", "measured", "floor", ""].map(str::to_owned);
    let cells = |row: &Row| {
        let verdict = if row.pass { "pass" } else { "MISS" };
        [
            row.name.to_owned(),
            row.what.clone(),
            row.target.clone(),
            row.measured.clone(),
            row.floor.clone(),
            verdict.to_owned(),
        ]
    };
    let lines: Vec<[String; 6]> = std::iter::once(head).chain(rows.iter().map(cells)).collect();
    let width = |at: usize| lines.iter().map(|line| line.get(at).map_or(0, |cell| cell.chars().count())).max();
    let widths: Vec<usize> = (0..6).map(|at| width(at).unwrap_or(0)).collect();
    for (number, line) in lines.iter().enumerate() {
        let padded = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        println!("| {} |", padded.collect::<Vec<_>>().join(" | "));
        if number == 0 {
            println!("|{}|", widths.iter().map(|width| "-".repeat(width + 2)).collect::<Vec<_>>().join("|"));
        }
    }
}
