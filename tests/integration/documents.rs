//! What is committed says what the program says.

use crate::command::{code, err, out, root, scoregate};

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

#[test]
fn the_evaluators_in_the_documents_are_the_program_s() {
    let output = scoregate(&root(), &["evaluators", "--format", "markdown"]);
    assert_eq!(code(&output), 0);
    let committed = std::fs::read_to_string(root().join("docs/evaluators.md")).expect("docs/evaluators.md");
    assert!(committed == out(&output), "run `cargo run -- evaluators --format markdown > docs/evaluators.md`");
}

#[test]
fn evaluators_are_listed_and_shown() {
    let list = out(&scoregate(&root(), &["evaluators"]));
    for kind in scoregate::evaluator::kinds() {
        let name = kind.info.name;
        assert!(list.lines().any(|line| line.split_whitespace().next() == Some(name)), "{name} is not in\n{list}");
        let page = scoregate(&root(), &["evaluators", "show", name]);
        assert!(code(&page) == 0 && out(&page).starts_with(&format!("## {name}\n")), "{}", out(&page));
    }
    let unknown = scoregate(&root(), &["evaluators", "show", "faithfullness"]);
    assert_eq!(code(&unknown), 2);
    assert!(err(&unknown).contains("did you mean `faithfulness`?"), "{}", err(&unknown));
}

/// Names of the commands in the help's list.
fn commands_of(help: &str) -> Vec<String> {
    let list = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = list.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").map(str::to_owned).collect()
}

#[test]
fn the_readme_names_the_commands_of_the_help() {
    let readme = std::fs::read_to_string(root().join("README.md")).expect("README.md");
    let table: Vec<&str> = readme
        .lines()
        .skip_while(|line| !line.starts_with("| command |"))
        .skip(2)
        .take_while(|line| line.starts_with("| "))
        .collect();
    let first_cells: Vec<&str> = table.iter().filter_map(|row| row.split(" | ").next()).collect();
    let mut named: Vec<&str> = first_cells.iter().flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
    named.iter_mut().for_each(|name| *name = name.trim_start_matches("scoregate "));
    let first_words: Vec<&str> = named.iter().filter_map(|name| name.split_whitespace().next()).collect();
    let help = out(&scoregate(&root(), &["--help"]));
    assert_eq!(first_words, commands_of(&help), "the table in the README against `scoregate --help`");
    let baseline = named.iter().find_map(|name| name.strip_prefix("baseline ")).expect("baseline");
    let subcommands: Vec<&str> = baseline.split("\\|").collect();
    assert_eq!(subcommands, commands_of(&out(&scoregate(&root(), &["baseline", "--help"]))));
    for name in first_words {
        assert_eq!(code(&scoregate(&root(), &[name, "--help"])), 0);
    }
}

#[test]
fn flags_stand_under_the_heading_of_their_file() {
    let help = out(&scoregate(&root(), &["run", "--help"]));
    for (heading, flag) in [
        ("Input:", "[SUITE]"),
        ("Selection:", "--only-failed"),
        ("Selection:", "--shard"),
        ("Run:", "--workers"),
        ("Run:", "--ledger"),
        ("Run:", "--record"),
        ("Run:", "--replay"),
        ("Run:", "--events"),
        ("Gate:", "--baseline"),
        ("Report:", "--out"),
        ("Host:", "--no-comment"),
        ("Host:", "--check"),
    ] {
        let (_, under) =
            help.split_once(&format!("\n{heading}\n")).unwrap_or_else(|| panic!("no {heading} in\n{help}"));
        let group = under.split("\n\n").take_while(|block| block.starts_with("  ") || block.starts_with("      "));
        assert!(group.collect::<String>().contains(flag), "{flag} is not under {heading}\n{help}");
    }
}

/// A page for each command, and each of its flags on it.
#[test]
fn the_manual_has_every_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let main = out(&scoregate(folder.path(), &["man"]));
    assert!(main.contains(".TH scoregate 1") && main.contains("Exit codes"), "{main}");
    assert_eq!(code(&scoregate(folder.path(), &["man", "--out", "pages"])), 0);
    let page = |name: &str| std::fs::read_to_string(folder.path().join("pages").join(name)).expect(name);
    let help = out(&scoregate(&root(), &["--help"]));
    for command in commands_of(&help) {
        let page = page(&format!("scoregate-{command}.1"));
        assert!(page.contains(&format!("scoregate\\-{command}")), "{page}");
    }
    assert!(page("scoregate-run.1").contains("\\-\\-only\\-failed"));
    page("scoregate-baseline-update.1");
    std::fs::write(folder.path().join("file"), "").expect("a file");
    assert_eq!(code(&scoregate(folder.path(), &["man", "--out", "file"])), 3);
}
