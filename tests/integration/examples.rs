//! Every YAML example of the README and of `docs/` works, and `docs/suite.md` leaves nothing out.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::command::root;

/// A fenced block of YAML and where it stands.
struct Example {
    place: String,
    text: String,
}

fn documents() -> Vec<(String, String)> {
    let mut files = vec![root().join("README.md")];
    let folder = std::fs::read_dir(root().join("docs")).expect("docs");
    files.extend(
        folder.flatten().map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|ext| ext == "md")),
    );
    files.sort();
    let read = |path: &std::path::PathBuf| {
        let name = path.strip_prefix(root()).expect("below the root").display().to_string();
        (name, std::fs::read_to_string(path).expect("a document"))
    };
    files.iter().map(read).collect()
}

fn examples() -> Vec<Example> {
    let mut found = Vec::new();
    for (name, text) in documents() {
        let mut open: Option<Example> = None;
        for (at, line) in text.lines().enumerate() {
            match &mut open {
                None if line.trim() == "```yaml" => {
                    open = Some(Example { place: format!("{name}:{}", at + 1), text: String::new() });
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
    let ci = std::fs::read_to_string(root().join(".github/workflows/ci.yml")).expect("ci.yml");
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
            assert!(!known || ci.contains(used.trim()), "{}: CI uses another version than {used}", example.place);
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
    assert!(checked > 0);
}

#[test]
fn the_readme_names_every_input_and_output_of_the_action() {
    let action: Value =
        serde_yaml::from_str(&std::fs::read_to_string(root().join("action.yml")).expect("action.yml")).expect("YAML");
    let readme = std::fs::read_to_string(root().join("README.md")).expect("README.md");
    let (_, section) = readme.split_once("## On GitHub").expect("the section");
    for kind in ["inputs", "outputs"] {
        for name in action[kind].as_object().expect("a mapping").keys() {
            let mut rows = section.lines().filter(|line| line.starts_with("| `"));
            assert!(rows.any(|row| row.contains(&format!("`{name}`"))), "no row for `{name}` of {kind}");
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
    for kind in scoregate::report::KINDS {
        assert!(section(&text, "reports").contains(&format!("`{}`", kind.file)), "{}", kind.file);
    }
}

/// Links between the documents lead somewhere.
#[test]
fn links_of_the_documents_lead_somewhere() {
    for (name, text) in documents() {
        let anchors: BTreeSet<String> = text
            .lines()
            .filter_map(|line| line.strip_prefix('#'))
            .map(|line| line.trim_start_matches('#').trim().to_lowercase().replace(' ', "-").replace('`', ""))
            .collect();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let exists = match link.strip_prefix('#') {
                Some(anchor) => anchors.contains(anchor),
                None if link.starts_with("https://") => true,
                None => {
                    let file = link.split('#').next().unwrap_or_default();
                    root().join(Path::new(&name).parent().expect("a folder")).join(file).exists()
                }
            };
            assert!(exists, "{name}: {link} leads nowhere");
        }
    }
}
