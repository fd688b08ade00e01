//! The system that the base branch has is not the change's to choose: its target, the model that it asks, and the files that it answers from or runs.

use std::collections::BTreeSet;

use serde_json::Value;

use super::earlier::{Earlier, references};
use super::tree::{Tree, beside};
use crate::domain::{BaseRecord, PolicyChange};
use crate::suite::{Block, Suite};

/// What stands between the names of files in a word that a shell or a program takes apart.
const BETWEEN: &[char] =
    &[' ', '\t', '\n', '\r', '\'', '"', '`', '=', ',', ':', ';', '&', '|', '<', '>', '(', ')', '$'];

/// Compares the targets whose answers excuse the change's own, or are its baseline.
///
/// Files are those that the target names; what a program reads on its own is not known here.
pub(super) fn compare(tree: &Tree, earlier: &Earlier, suite: &Suite, record: &mut BaseRecord) {
    let concurrent = earlier.policy.baseline.as_ref().and_then(|asked| asked.target.as_ref());
    let names: BTreeSet<&String> = concurrent.into_iter().chain(&earlier.policy.confirm).collect();
    for name in names {
        let (before, after) = (named(&earlier.suite.targets, name), named(&suite.targets, name));
        let new = match (before, after) {
            (Some(before), Some(after)) if !same(before, after) => "changed".to_owned(),
            (Some(target), Some(_)) => {
                let mut differ = models(target, &earlier.suite, suite);
                differ.extend(files(target, tree, earlier, suite));
                if differ.is_empty() {
                    continue;
                }
                differ.join(", ")
            }
            (None, None) => continue,
            (Some(_), None) => "removed".to_owned(),
            (None, Some(_)) => "changed".to_owned(),
        };
        record.changes.push(PolicyChange {
            what: format!("targets.{name}"),
            old: before.map_or("absent", |_| "as on the base").to_owned(),
            new,
            place: after.map(|block| format!("{}:{}", block.source.path, block.span.line)),
            loosens: true,
        });
    }
}

fn named<'b>(blocks: &'b [Block], name: &str) -> Option<&'b Block> {
    blocks.iter().find(|block| &*block.name == name)
}

fn same(before: &Block, after: &Block) -> bool {
    (&before.kind, &before.value) == (&after.kind, &after.value)
}

/// The model that the target asks, where it is another one.
fn models(target: &Block, before: &Suite, after: &Suite) -> Vec<String> {
    let Some(name) = target.value.get("model").and_then(Value::as_str) else { return Vec::new() };
    let kept = match (named(&before.models, name), named(&after.models, name)) {
        (Some(before), Some(after)) => same(before, after),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    };
    if kept { Vec::new() } else { vec![format!("models.{name} changed")] }
}

/// The files and folders of the repository that the target names, where they are others.
fn files(target: &Block, tree: &Tree, earlier: &Earlier, suite: &Suite) -> Vec<String> {
    let Some(path) = tree.path_of(&suite.path) else {
        return vec!["its files cannot be compared: the suite is not in the repository".to_owned()];
    };
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut differ = Vec::new();
    for reference in names_in(target, &earlier.suite) {
        let (Some(old), Some(new)) = (beside(&earlier.folder, &reference), beside(folder, &reference)) else {
            continue;
        };
        if new.is_empty() {
            // All of the repository: every change would differ.
            continue;
        }
        match tree.same(&old, &new) {
            Ok(true) => {}
            Ok(false) => differ.push(format!("{new} changed")),
            Err(why) => differ.push(format!("{new} cannot be compared ({why})")),
        }
    }
    differ
}

/// What may be the name of a file in a target's settings.
fn names_in(target: &Block, suite: &Suite) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    match &*target.kind {
        "recorded" => match target.value.get("path").and_then(Value::as_str) {
            Some(path) => names.extend([path.to_owned()]),
            // The data set's own rows.
            None => names.extend(suite.dataset.iter().flat_map(|block| references(block.value.get("path"))).map(plain)),
        },
        "command" => words(&target.value, &mut names),
        _ => {}
    }
    names
}

/// A pattern is the folder that all of its files are in.
fn plain(path: String) -> String {
    let Some(first) = path.find(['*', '?', '[']) else { return path };
    let folder = path.get(..first).and_then(|start| start.rsplit_once('/'));
    folder.map_or_else(String::new, |(folder, _)| folder.to_owned())
}

/// Every text, whole and taken apart; absolute paths are the machine's.
fn words(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => {
            let all = std::iter::once(text.as_str()).chain(text.split(BETWEEN));
            let fits =
                |word: &&str| !word.is_empty() && !word.starts_with('/') && !word.contains(['\n', '\r', '\0', '\\']);
            names.extend(all.filter(fits).map(str::to_owned));
        }
        Value::Array(list) => list.iter().for_each(|value| words(value, names)),
        Value::Object(map) => map.values().for_each(|value| words(value, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn files_are_found_in_arguments_scripts_and_variables() {
        let value = json!({ "argv": ["sh", "-c", "cd old && python3 ./app.py --config=old.toml"], "env": { "PROMPT": "prompts/a b.txt" } });
        let mut names = BTreeSet::new();
        words(&value, &mut names);
        for name in ["old", "./app.py", "old.toml", "prompts/a b.txt"] {
            assert!(names.contains(name), "{name} is not in {names:?}");
        }
        words(&json!(["/usr/bin/env", ""]), &mut names);
        assert!(!names.contains("/usr/bin/env") && !names.contains(""), "{names:?}");
        assert_eq!((plain("data/*.jsonl".to_owned()), plain("*.csv".to_owned())), ("data".to_owned(), String::new()));
    }
}
