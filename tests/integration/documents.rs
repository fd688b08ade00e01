//! What is committed says what the program says.

use crate::command::{code, out, root, scoregate};

#[test]
fn the_committed_schema_is_the_program_s() {
    let output = scoregate(&root(), &["schema"]);
    assert_eq!(code(&output), 0);
    let committed = std::fs::read_to_string(root().join("schema/scoregate.schema.json")).expect("the committed schema");
    assert!(committed == out(&output), "run `cargo run -- schema > schema/scoregate.schema.json`");
}

#[test]
fn the_readme_shows_the_real_output() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().display().to_string();
    let readme = std::fs::read_to_string(root().join("README.md")).expect("README.md");
    let output = scoregate(&root(), &["run", "fixtures/quickstart/scoregate.yaml", "--out", &place]);
    let table: Vec<String> = out(&output)
        .lines()
        .filter(|line| line.contains("not worse") || line.contains(" more"))
        .map(str::to_owned)
        .collect();
    assert!(table.len() > 3, "{table:?}");
    let shown = out(&output);
    let totals = shown.lines().find(|line| line.contains("scores measured")).expect("the totals");
    let untimed = totals.rsplit_once(" in ").map_or(totals, |(before, _)| before);
    assert!(readme.contains(&format!("{untimed} in ")), "the README lacks this line:\n{untimed}");
    for line in table {
        assert!(readme.contains(line.trim_end()), "the README lacks this line:\n{line}");
    }
}
