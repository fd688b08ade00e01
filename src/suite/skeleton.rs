//! The tree → the skeleton's own settings and the blocks of others.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::Block;
use super::locate::{Label, block};
use super::node::{Content, Entry, Node};
use super::spec::{RunSpec, SuiteSpec};
use crate::diagnostic::{Diagnostics, Source, Span};
use crate::text::suggest;

/// The kinds of target; each is the only key of its entry.
const TARGET_KINDS: [&str; 4] = ["http", "command", "chat", "recorded"];

/// A suite file taken apart.
pub(super) struct Skeleton {
    pub name: String,
    pub run: RunSpec,
    /// `run.record` as written.
    pub record: Map<String, Value>,
    /// `run`, for placing problems.
    pub run_block: Option<Block>,
    pub dataset: Vec<Block>,
    pub targets: Vec<Block>,
    pub models: Vec<Block>,
    pub evaluators: Vec<Block>,
    pub gate: Option<Block>,
    pub reports: Option<Block>,
    pub alerts: Vec<Block>,
}

/// Takes the tree apart and pushes every problem of the skeleton. What is wrong is left out, so that the owners of the other blocks can
/// check theirs as well: all problems at once.
pub(super) fn skeleton(mut root: Node, source: &Arc<Source>, diagnostics: &mut Diagnostics) -> Skeleton {
    drop_extensions(&mut root);
    drop_empty_sections(&mut root);
    not_available(&mut root, source, diagnostics);
    let whole = block(&hollow(&root), label("", "suite", "suite", root.span), source);
    let spec: Option<SuiteSpec> = whole.draft(diagnostics).map(|draft| draft.settings);
    let taker = Taker { root: &root, source };
    let dataset = taker.dataset();
    let targets = taker.targets(diagnostics);
    let (models, evaluators) = (taker.models(diagnostics), taker.evaluators(diagnostics));
    let targets = if root.get("targets").is_some() { targets } else { taker.recorded() };
    // Other problems do not take the name away.
    let written = root.get("name").and_then(|entry| match &entry.value.content {
        Content::Text(text) => Some(text.to_string()),
        _ => None,
    });
    let run_block = taker.whole("run");
    let (name, run) = match spec {
        Some(spec) => (spec.name, spec.run),
        // Its problems are told above; what can be read of it is still checked.
        None => (
            written.unwrap_or_default(),
            run_block.as_ref().and_then(|run| run.draft(&mut Diagnostics::default())).map(|draft| draft.settings),
        ),
    };
    Skeleton {
        name,
        run: run.unwrap_or_default(),
        record: record(&root),
        run_block,
        dataset,
        targets,
        models,
        evaluators,
        gate: taker.whole("gate"),
        reports: taker.whole("reports"),
        alerts: taker.alerts(),
    }
}

/// Top-level keys that begin with `x-` hold anchors and notes.
fn drop_extensions(root: &mut Node) {
    if let Content::Map(entries) = &mut root.content {
        entries.retain(|entry| !entry.key.starts_with("x-"));
    }
}

/// A section's name with nothing behind it is the same as no section, except where the skeleton requires one.
fn drop_empty_sections(root: &mut Node) {
    if let Content::Map(entries) = &mut root.content {
        let optional = |key: &str| matches!(key, "models" | "gate" | "run" | "reports" | "alerts");
        entries.retain(|entry| !(optional(&entry.key) && entry.value.content == Content::Null));
    }
}

/// Settings of the full form that this version does not have: refused by name, never ignored.
fn not_available(root: &mut Node, source: &Arc<Source>, diagnostics: &mut Diagnostics) {
    let Content::Map(entries) = &mut root.content else { return };
    let Some(run) = entries.iter_mut().find(|entry| entry.key == "run") else { return };
    let mut refuse = |span: Span, message: &str, help: &str| {
        let diagnostic = crate::diagnostic::Diagnostic::error("not-available", message.to_owned());
        diagnostics.push(diagnostic.at(source, span).help(help));
    };
    for (key, help) in [("mode", "remove it; calls are made one by one")] {
        if let Some(entry) = run.value.take(key) {
            refuse(entry.key_span, &format!("`{key}` is not available in this version"), help);
        }
    }
}

/// The tree without what is inside the blocks.
fn hollow(root: &Node) -> Node {
    let Content::Map(entries) = &root.content else { return root.clone() };
    let section = |entry: &Entry| {
        let value = match entry.key.as_str() {
            "targets" | "models" | "evaluators" => inner(&entry.value),
            "dataset" | "alerts" => match &entry.value.content {
                Content::List(items) => {
                    let mut value = entry.value.leaf();
                    value.content = Content::List(items.iter().map(Node::hollow).collect());
                    value
                }
                _ => entry.value.hollow(),
            },
            "gate" | "reports" => entry.value.hollow(),
            _ => entry.value.clone(),
        };
        Entry { key: entry.key.clone(), key_span: entry.key_span, value }
    };
    let mut whole = root.leaf();
    whole.content = Content::Map(entries.iter().map(section).collect());
    whole
}

fn inner(node: &Node) -> Node {
    let Content::Map(entries) = &node.content else { return node.clone() };
    let mut hollow = node.leaf();
    let entry = |entry: &Entry| Entry { key: entry.key.clone(), key_span: entry.key_span, value: entry.value.hollow() };
    hollow.content = Content::Map(entries.iter().map(entry).collect());
    hollow
}

fn record(root: &Node) -> Map<String, Value> {
    let record = root.get("run").and_then(|run| run.value.get("record")).map(|record| record.value.value_as_written());
    match record {
        Some(Value::Object(map)) => map,
        Some(_) | None => Map::new(),
    }
}

fn label<'l>(name: &'l str, kind: &'l str, path: impl Into<String>, span: Span) -> Label<'l> {
    Label { name, kind, path: path.into(), span, kind_span: span }
}

struct Taker<'t> {
    root: &'t Node,
    source: &'t Arc<Source>,
}

impl Taker<'_> {
    fn section(&self, key: &str) -> &[Entry] {
        self.root.get(key).map_or(&[], |entry| entry.value.entries())
    }

    fn whole(&self, key: &str) -> Option<Block> {
        let entry = self.root.get(key)?;
        Some(block(&entry.value, label(key, key, key, entry.key_span), self.source))
    }

    fn dataset(&self) -> Vec<Block> {
        let Some(entry) = self.root.get("dataset") else { return Vec::new() };
        let make = |index: usize, node: &Node, span: Span| {
            let name = index.to_string();
            block(node, label(&name, "dataset", format!("dataset.{index}"), span), self.source)
        };
        match &entry.value.content {
            Content::List(items) => {
                items.iter().enumerate().map(|(index, item)| make(index, item, item.span)).collect()
            }
            Content::Map(_) => vec![make(0, &entry.value, entry.key_span)],
            Content::Null | Content::Bool(_) | Content::Number { .. } | Content::Text(_) => Vec::new(),
        }
    }

    fn alerts(&self) -> Vec<Block> {
        let Some(Entry { value: Node { content: Content::List(items), .. }, .. }) = self.root.get("alerts") else {
            return Vec::new();
        };
        let make = |(index, item): (usize, &Node)| {
            let name = index.to_string();
            block(item, label(&name, "alert", format!("alerts.{index}"), item.span), self.source)
        };
        items.iter().enumerate().map(make).collect()
    }

    /// Each entry has exactly one key, its kind.
    fn targets(&self, diagnostics: &mut Diagnostics) -> Vec<Block> {
        let mut targets = Vec::new();
        for entry in self.section("targets") {
            let whole = || {
                block(
                    &entry.value,
                    label(&entry.key, "target", format!("targets.{}", entry.key), entry.key_span),
                    self.source,
                )
            };
            let kinds = suggest::list(TARGET_KINDS, "or");
            let known = |entry: &&Entry| TARGET_KINDS.contains(&entry.key.as_str());
            let inside = entry.value.entries();
            for unknown in inside.iter().filter(|inside| !known(inside)) {
                let help = suggest::did_you_mean(&unknown.key, TARGET_KINDS)
                    .unwrap_or_else(|| format!("the kinds are {kinds}"));
                let problem = whole().problem("", "unknown-kind", format!("unknown kind of target `{}`", unknown.key));
                diagnostics.push(problem.at(self.source, unknown.key_span).help(help));
            }
            let mut found = inside.iter().filter(known);
            match (found.next(), found.next()) {
                (Some(kind), None) => {
                    let path = format!("targets.{}", entry.key);
                    let label = Label {
                        name: &entry.key,
                        kind: &kind.key,
                        path,
                        span: entry.key_span,
                        kind_span: kind.key_span,
                    };
                    targets.push(block(&kind.value, label, self.source));
                }
                (Some(first), Some(second)) => diagnostics.push(
                    whole()
                        .problem(
                            "",
                            "two-kinds",
                            format!("target `{}` is both `{}` and `{}`", entry.key, first.key, second.key),
                        )
                        .at(self.source, second.key_span)
                        .related(first.key_span, "first kind")
                        .help("a target has one kind; make two targets"),
                ),
                (None, _) if inside.is_empty() && matches!(entry.value.content, Content::Map(_)) => diagnostics.push(
                    whole()
                        .problem("", "no-kind", format!("target `{}` has no kind", entry.key))
                        .help(format!("add {kinds} below it")),
                ),
                (None, _) => {}
            }
        }
        targets
    }

    /// The target of a suite that names none: the answers recorded in its data set.
    fn recorded(&self) -> Vec<Block> {
        let span = self.root.get("dataset").map_or(self.root.span, |entry| entry.key_span);
        let mut node = self.root.leaf();
        node.content = Content::Map(Vec::new());
        vec![block(&node, label("recorded", "recorded", "targets.recorded", span), self.source)]
    }

    fn models(&self, diagnostics: &mut Diagnostics) -> Vec<Block> {
        let mut models = Vec::new();
        for entry in self.section("models") {
            let Some(model) = self.kinded("models", entry, "provider", diagnostics) else { continue };
            if entry.value.get("provider").is_none() {
                diagnostics.push(
                    model
                        .problem("", "missing-key", format!("model `{}` has no `provider`", entry.key))
                        .help("add `provider: openai`, which serves every OpenAI-compatible address"),
                );
                continue;
            }
            models.push(model);
        }
        models
    }

    fn evaluators(&self, diagnostics: &mut Diagnostics) -> Vec<Block> {
        self.section("evaluators")
            .iter()
            .filter_map(|entry| self.kinded("evaluators", entry, "use", diagnostics))
            .collect()
    }

    /// An entry whose kind stands under `key`, or is the entry's own key.
    fn kinded(&self, section: &str, entry: &Entry, key: &str, diagnostics: &mut Diagnostics) -> Option<Block> {
        if !matches!(entry.value.content, Content::Map(_) | Content::Null) {
            return None;
        }
        let mut node = entry.value.clone();
        let kind = node.take(key);
        let path = format!("{section}.{}", entry.key);
        let (word, kind_span) = match &kind {
            None => (entry.key.as_str(), entry.key_span),
            Some(Entry { value: Node { content: Content::Text(word), span, from_environment: false, .. }, .. }) => {
                (word.as_str(), *span)
            }
            Some(other) => {
                let whole = block(&node, label(&entry.key, &entry.key, path, entry.key_span), self.source);
                let problem = whole.problem("", "wrong-type", format!("`{key}` must be a word of the file itself"));
                diagnostics.push(problem.at(self.source, other.value.span));
                return None;
            }
        };
        Some(block(&node, Label { name: &entry.key, kind: word, path, span: entry.key_span, kind_span }, self.source))
    }
}
