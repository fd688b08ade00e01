//! Every example of the README and of `docs/` works, links lead somewhere, and `docs/suite.md` leaves nothing out.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::command::root;

/// A fenced block and where it stands.
struct Example {
    place: String,
    language: String,
    text: String,
}

/// Files below a folder with that extension, sorted.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in std::fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|found| found == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// README and pages, by their path from the root; a page with what it includes, as the site shows it.
fn documents() -> Vec<(String, String)> {
    let pages = files(&root().join("docs"), "md");
    let read = |path: PathBuf| {
        let name = path.strip_prefix(root()).expect("below the root").display().to_string();
        let text = std::fs::read_to_string(&path).expect("a document");
        (name, included(&path, &text))
    };
    std::iter::once(root().join("README.md")).chain(pages).map(read).collect()
}

fn included(path: &Path, text: &str) -> String {
    let line = |line: &str| match line.strip_prefix("{{#include ").and_then(|rest| rest.strip_suffix("}}")) {
        Some(file) => {
            let file = path.parent().expect("a folder").join(file);
            std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
        }
        None => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

/// Pages of the site, without its table of contents.
fn pages() -> Vec<(String, String)> {
    documents().into_iter().filter(|(name, _)| name.starts_with("docs/") && name != "docs/SUMMARY.md").collect()
}

fn examples() -> Vec<Example> {
    fenced().into_iter().filter(|example| example.language == "yaml").collect()
}

fn fenced() -> Vec<Example> {
    let mut found = Vec::new();
    for (name, text) in documents() {
        let mut open: Option<Example> = None;
        for (at, line) in text.lines().enumerate() {
            match &mut open {
                None if line.trim().starts_with("```") => {
                    let language = line.trim().trim_start_matches('`').to_owned();
                    open = Some(Example { place: format!("{name}:{}", at + 1), language, text: String::new() });
                }
                Some(_) if line.trim() == "```" => found.extend(open.take()),
                Some(example) => example.text.push_str(&format!("{line}\n")),
                None => {}
            }
        }
        assert!(open.is_none(), "{name} ends inside an example");
    }
    found
}

fn parsed(example: &Example) -> Value {
    serde_yaml::from_str(&example.text).unwrap_or_else(|error| panic!("{}: {error}", example.place))
}

fn is_workflow(value: &Value) -> bool {
    ["steps", "jobs", "on"].iter().any(|key| value.get(key).is_some())
}

/// What the examples name: a data set, answers, a program.
fn project() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let rows: String = (0..40)
        .map(|at| {
            let row = serde_json::json!({
                "id": format!("q{at}"), "question": format!("Question {at}?"),
                "gold": "An answer", "answer": "An answer", "relevant_ids": ["d1"], "topic": "search", "lang": "en",
                "tags": ["critical"], "contexts": ["A passage"],
            });
            format!("{row}\n")
        })
        .collect();
    let answers: String = (0..40)
        .map(|at| {
            let row = serde_json::json!({
                "id": format!("q{at}"), "qid": format!("q{at}"), "answer": "An answer", "text": "An answer",
                "contexts": [{"id": "d1", "text": "A passage"}], "sources": [{"passage": "A passage"}],
            });
            format!("{row}\n")
        })
        .collect();
    for name in ["data", "runs", ".git"] {
        std::fs::create_dir(folder.path().join(name)).expect("a folder");
    }
    std::fs::write(folder.path().join("data/questions.jsonl"), rows).expect("a file");
    std::fs::write(folder.path().join("runs/today.jsonl"), answers).expect("a file");
    folder
}

/// A part of a suite, made whole.
fn whole(example: &Example) -> String {
    let mut suite = serde_json::json!({
        "version": 1, "name": "example", "dataset": { "path": "data/questions.jsonl" }, "evaluators": { "length": { "min": 1 } },
    });
    let part = parsed(example);
    for (key, value) in part.as_object().expect("a mapping") {
        suite[key] = value.clone();
    }
    if part.get("version").is_some() { example.text.clone() } else { serde_yaml::to_string(&suite).expect("YAML") }
}

#[test]
fn every_suite_in_the_documents_loads() {
    let schema: Value =
        serde_json::from_slice(&std::fs::read(root().join("schema/scoregate.schema.json")).expect("the schema"))
            .expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let folder = project();
    let mut checked = 0;
    for example in examples() {
        if is_workflow(&parsed(&example)) {
            continue;
        }
        let text = whole(&example);
        let value: Value = serde_yaml::from_str(&text).expect("YAML");
        let problems: Vec<String> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
        assert_eq!(problems, Vec::<String>::new(), "{}", example.place);
        std::fs::write(folder.path().join("scoregate.yaml"), &text).expect("a file");
        let output = Command::new(env!("CARGO_BIN_EXE_scoregate"))
            .arg("check")
            .current_dir(folder.path())
            .env_clear()
            .env("OPENAI_API_KEY", "sk-0123456789")
            .env("JUDGE_KEY", "sk-0123456789")
            .env("APP_TOKEN", "0123456789")
            .output()
            .expect("the binary starts");
        assert!(output.status.success(), "{}: {}", example.place, String::from_utf8_lossy(&output.stderr));
        checked += 1;
    }
    assert!(checked > 10, "{checked} examples");
}

/// Inputs that exist, other people's actions pinned by commit (as CI pins them), only the permissions that are needed.
#[test]
fn every_workflow_in_the_documents_is_right() {
    let action: Value =
        serde_yaml::from_str(&std::fs::read_to_string(root().join("action.yml")).expect("action.yml")).expect("YAML");
    let own = files(&root().join(".github/workflows"), "yml");
    let ci: String = own.iter().map(|path| std::fs::read_to_string(path).expect("a workflow")).collect();
    let mut checked = 0;
    for example in examples() {
        let value = parsed(&example);
        if !is_workflow(&value) {
            continue;
        }
        for line in example.text.lines().filter(|line| line.contains("uses: ") && line.contains('@')) {
            let (_, used) = line.split_once("uses: ").expect("an action");
            let (action, version) = used.split_once('@').expect("a version");
            let commit = version.split(' ').next().unwrap_or_default();
            assert!(commit.len() == 40 && version.contains(" # v"), "{}: {used} is not pinned", example.place);
            let known = ci.contains(&format!("{action}@"));
            let plain = used.split(" # zizmor").next().unwrap_or_default().trim();
            assert!(!known || ci.contains(plain), "{}: our workflows use another version than {used}", example.place);
        }
        let jobs: Vec<&Value> =
            value["jobs"].as_object().into_iter().flat_map(|jobs| jobs.values()).chain([&value]).collect();
        for step in jobs.iter().filter_map(|job| job["steps"].as_array()).flatten() {
            let run = step["run"].as_str().unwrap_or_default();
            assert!(!run.contains("${{"), "{}: an expression in a script", example.place);
            if step["uses"].as_str().is_some_and(|used| used == "./" || used.contains("scoregate")) {
                for input in step["with"].as_object().into_iter().flat_map(|with| with.keys()) {
                    assert!(action["inputs"].get(input).is_some(), "{}: no input `{input}`", example.place);
                }
                checked += 1;
            }
        }
    }
    assert!(checked > 7, "{checked} steps");
}

/// A whole workflow is a file, so that the tools of `.ci/run` can look at it, and a page shows it.
#[test]
fn every_workflow_of_the_documents_is_shown() {
    let shown: String = files(&root().join("docs"), "md")
        .iter()
        .map(|path| std::fs::read_to_string(path).expect("a page"))
        .filter(|text| text.contains("{{#include"))
        .collect();
    let workflows = files(&root().join("docs/github"), "yml");
    assert!(workflows.len() > 4);
    for path in workflows {
        let name = path.file_name().expect("a name").to_str().expect("UTF-8").to_owned();
        assert!(shown.contains(&format!("{{{{#include ../github/{name}}}}}")), "no page shows docs/github/{name}");
    }
}

/// The words of a line as a shell reads them: quotes, no expansions, up to a comment, a pipe or a redirection.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut open) = (Vec::new(), None::<String>, None);
    for character in line.chars() {
        match (open, character) {
            (Some(quote), found) if quote == found => open = None,
            (Some(_), found) => word.get_or_insert_default().push(found),
            (None, '\'' | '"') => {
                open = Some(character);
                word.get_or_insert_default();
            }
            (None, ' ') => words.extend(word.take()),
            (None, '#' | '>' | '|' | '&' | ';') if word.is_none() => break,
            (None, found) => word.get_or_insert_default().push(found),
        }
    }
    words.extend(word);
    words
}

/// What a page tells to type is a command line of this program: it may miss its files here, and nothing else.
#[test]
fn every_command_in_the_documents_is_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut checked = 0;
    for example in fenced().iter().filter(|example| ["console", "bash", "sh"].contains(&example.language.as_str())) {
        for line in example.text.lines().filter_map(|line| line.trim().strip_prefix("scoregate ")) {
            let words: Vec<String> = words(line).into_iter().filter(|word| word != "...").collect();
            let output = Command::new(env!("CARGO_BIN_EXE_scoregate"))
                .args(&words)
                .current_dir(folder.path())
                .env_clear()
                .stdin(Stdio::null())
                .output()
                .expect("the binary starts");
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(!said.contains("the command line is wrong"), "{}: scoregate {line}\n{said}", example.place);
            checked += 1;
        }
    }
    assert!(checked > 15, "{checked} commands");
}

/// JSON, YAML, Python and shell of the documents can be read by who reads them.
#[test]
fn every_snippet_of_another_language_is_well_formed() {
    let mut checked = std::collections::BTreeMap::<&str, usize>::new();
    let examples = fenced();
    for Example { place, language, text } in &examples {
        let known = ["yaml", "yml", "console", "bash", "sh", "json", "jsonl", "csv", "python", "text"];
        assert!(known.contains(&language.as_str()), "{place}: nobody checks `{language}`");
        *checked.entry(language).or_default() += 1;
        let program = match language.as_str() {
            "json" => {
                let _: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{place}: {error}"));
                continue;
            }
            // What is no suite.
            "yml" => {
                let _: Value = serde_yaml::from_str(text).unwrap_or_else(|error| panic!("{place}: {error}"));
                continue;
            }
            "jsonl" => {
                for line in text.lines() {
                    let _: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{place}: {error}"));
                }
                continue;
            }
            "python" => ["python3", "-c", "import ast, sys; ast.parse(sys.argv[1])"],
            "bash" | "console" | "sh" => ["bash", "-n", "-c"],
            _ => continue,
        };
        let output = Command::new(program[0]).args(&program[1..]).arg(text).output().expect("an interpreter");
        assert!(output.status.success(), "{place}: {}", String::from_utf8_lossy(&output.stderr));
    }
    assert!(checked["python"] > 2 && checked["console"] > 5, "{checked:?}");
}

/// The table of contents has every page, once, and nothing else. A chapter without a file is one that is still to be written.
#[test]
fn the_table_of_contents_has_every_page() {
    let summary = std::fs::read_to_string(root().join("docs/SUMMARY.md")).expect("docs/SUMMARY.md");
    let mut linked: Vec<String> = links(&summary).into_iter().filter(|link| !link.is_empty()).collect();
    linked.sort();
    let pages: Vec<String> = pages().into_iter().map(|(name, _)| name.trim_start_matches("docs/").to_owned()).collect();
    assert_eq!(linked, pages);
}

fn links(text: &str) -> Vec<String> {
    text.split("](").skip(1).filter_map(|rest| rest.split(')').next()).map(str::to_owned).collect()
}

#[test]
fn the_readme_names_every_input_and_output_of_the_action() {
    let action: Value =
        serde_yaml::from_str(&std::fs::read_to_string(root().join("action.yml")).expect("action.yml")).expect("YAML");
    for (file, heading) in [("README.md", "## On GitHub"), ("docs/start/action.md", "# The action")] {
        let text = std::fs::read_to_string(root().join(file)).expect("a document");
        let (_, section) = text.split_once(heading).expect("the section");
        for kind in ["inputs", "outputs"] {
            for name in action[kind].as_object().expect("a mapping").keys() {
                let mut rows = section.lines().filter(|line| line.starts_with("| `"));
                assert!(rows.any(|row| row.contains(&format!("`{name}`"))), "{file}: no row for `{name}` of {kind}");
            }
        }
    }
}

/// The text below a heading of second rank.
fn section<'t>(text: &'t str, name: &str) -> &'t str {
    let (_, after) = text.split_once(&format!("\n## {name}\n")).unwrap_or_else(|| panic!("no section `{name}`"));
    after.split("\n## ").next().unwrap_or_default()
}

#[test]
fn the_suite_reference_has_every_key() {
    let text = std::fs::read_to_string(root().join("docs/suite.md")).expect("docs/suite.md");
    let schema: Value =
        serde_json::from_slice(&std::fs::read(root().join("schema/scoregate.schema.json")).expect("the schema"))
            .expect("JSON");
    let missing = |keys: &Value, section: &str, place: &str| -> Vec<String> {
        let keys = keys["properties"].as_object().into_iter().flat_map(|keys| keys.keys());
        keys.filter(|key| !section.contains(&format!("`{key}`"))).map(|key| format!("{place}.{key}")).collect()
    };
    let (head, _) = text.split_once("\n## ").expect("sections");
    let mut lacking = missing(&schema, head, "suite");
    for (name, part) in schema["$defs"].as_object().expect("parts") {
        let room = match name.split('.').next().expect("a name") {
            "RunSpec" | "RetrySpec" | "BudgetSpec" | "LedgerSettings" => "run",
            "dataset" => "dataset",
            "target" => "targets",
            "model" => "models",
            "evaluator" | "use" => "evaluators",
            "gate" => "gate",
            "reports" => "reports",
            // Of the whole form.
            _ => continue,
        };
        lacking.extend(missing(part, section(&text, room), name));
    }
    assert_eq!(lacking, Vec::<String>::new());
}

#[test]
fn the_suite_reference_has_every_kind() {
    let text = std::fs::read_to_string(root().join("docs/suite.md")).expect("docs/suite.md");
    for kind in scoregate::evaluator::kinds() {
        let row = format!("`{}`", kind.info.name);
        let rows = section(&text, "evaluators").lines().filter(|line| line.starts_with("| ") && line.contains(&row));
        assert!(rows.count() > 0, "no row for the evaluator {row}");
    }
    for kind in scoregate::target::kinds() {
        assert!(section(&text, "targets").contains(&format!("\n### {}\n", kind.name)), "{}", kind.name);
    }
    for kind in scoregate::provider::kinds() {
        assert!(section(&text, "models").contains(&format!("`{}`", kind.name)), "{}", kind.name);
    }
    for kind in &scoregate::report::KINDS {
        assert!(section(&text, "reports").contains(&format!("`{}`", kind.file)), "{}", kind.file);
    }
}

/// The ids of a page's headings, as GitHub and mdBook make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let id = |line: &str| {
        let letters = line.trim_start_matches('#').trim().to_lowercase();
        let kept = letters.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect::<String>()
    };
    text.lines().filter(|line| line.starts_with('#')).map(id).collect()
}

/// Links between the documents lead somewhere, and on the site not out of it.
#[test]
fn links_of_the_documents_lead_somewhere() {
    let mut checked = 0;
    for (name, text) in documents() {
        for link in links(&text) {
            if link.starts_with("https://") || link.is_empty() && name == "docs/SUMMARY.md" {
                continue;
            }
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let path = match file {
                "" => root().join(&name),
                file => root().join(Path::new(&name).parent().expect("a folder")).join(file),
            };
            let path = path.canonicalize().unwrap_or_else(|_| panic!("{name}: {link} leads nowhere"));
            let site = root().join("docs").canonicalize().expect("docs");
            assert!(!name.starts_with("docs/") || path.starts_with(site), "{name}: {link} leads out of the site");
            if !anchor.is_empty() {
                let text = std::fs::read_to_string(&path).expect("a document");
                assert!(anchors(&text).contains(anchor), "{name}: {link}: no such heading");
            }
            checked += 1;
        }
    }
    assert!(checked > 60, "{checked} links");
}
