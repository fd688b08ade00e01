//! The results of all shards → the results of one run, as one machine would have written them.
//!
//! Shards are read side by side, a line of each at a time. Everything is checked that can be: the same suite, data, commit and version;
//! every shard once and whole; every case in its shard, in the data set's order; all of them together the data set's digest.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::fmt;
use std::path::{Path, PathBuf};

use super::first_line::FirstLine;
use super::lines::Lines;
use super::results::{KIND, RESULTS_SCHEMA};
use super::run_builder::RunBuilder;
use super::{OutcomeLine, ResultsWriter, StoreError};
use crate::domain::{CaseSet, Completion, Digest, Part, Redactor, Run, RunHeader, Spent, Usd};

/// Characters of an id; those of a run have as many.
const ID: usize = 12;
/// Shards that are named.
const NAMED: usize = 10;

/// Why shards do not make a run.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// The wrong files were named.
    #[error("{0}")]
    Files(String),
    /// Something is missing: a shard, its end, a case.
    #[error("{0}")]
    Missing(String),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// All shards of one run.
pub struct Shards {
    header: RunHeader,
    sources: Vec<Source>,
}

impl Shards {
    /// Opens the results of all shards, in any order, and checks their first lines.
    ///
    /// # Errors
    /// A file that is no shard's results; shards of different runs; a shard that stands twice or is missing.
    pub fn open(paths: &[PathBuf]) -> Result<Self, MergeError> {
        let mut sources = paths.iter().map(|path| Source::open(path)).collect::<Result<Vec<_>, _>>()?;
        sources.sort_by_key(|source| source.part.shard.index());
        let Some(first) = sources.first() else {
            return Err(MergeError::Files("no shard was named".to_owned()));
        };
        for other in sources.iter().skip(1) {
            if let Some(difference) = difference(first, other) {
                return Err(MergeError::Files(difference));
            }
        }
        complete(&sources)?;
        Ok(Self { header: joined(&sources, first), sources })
    }

    /// The first line of the whole run.
    pub fn header(&self) -> &RunHeader {
        &self.header
    }

    /// Writes the whole run's results to `to`, replacing what is there only when all is well.
    ///
    /// # Errors
    /// A shard that is cut off or not complete; cases that are missing, stand twice or are not the data set's; `Io`.
    pub fn join(self, to: &Path, redactor: Redactor) -> Result<Run, MergeError> {
        let Self { header, mut sources } = self;
        let mut joint = Joint {
            writer: ResultsWriter::create(to, &header, redactor)?,
            builder: RunBuilder::new(header.clone()),
            set: CaseSet::default(),
        };
        let mut heads = BinaryHeap::new();
        for (at, source) in sources.iter_mut().enumerate() {
            source.advance()?;
            heads.extend(source.position().map(|position| Reverse((position, at))));
        }
        for expected in 0..header.cases {
            match heads.pop() {
                Some(Reverse((position, at))) if position == expected => {
                    let Some(source) = sources.get_mut(at) else { break };
                    joint.case(source, &header)?;
                    heads.extend(source.position().map(|position| Reverse((position, at))));
                }
                Some(Reverse((position, at))) if position < expected => {
                    let source = sources.get(at).map_or_else(String::new, Source::shown);
                    return Err(MergeError::Files(format!(
                        "{source}: case number {position} stands in another place too"
                    )));
                }
                _ => return Err(MergeError::Missing(format!("case number {expected} of the data set is in no shard"))),
            }
        }
        if let Some(Reverse((_, at))) = heads.pop() {
            let source = sources.get(at).map_or_else(String::new, Source::shown);
            return Err(MergeError::Files(format!("{source} holds more cases than the data set has")));
        }
        if header.dataset_digest.is_some_and(|digest| digest != joint.set.digest()) {
            let text = "the cases of all shards together are not those of the data set that their first lines name";
            return Err(MergeError::Files(text.to_owned()));
        }
        let end = end_of(&sources, joint.writer.outcomes());
        joint.writer.finish(&end)?;
        Ok(joint.builder.finish(Some(end), Some(to.to_owned())))
    }
}

/// What is being written.
struct Joint {
    writer: ResultsWriter,
    builder: RunBuilder,
    set: CaseSet,
}

impl Joint {
    /// Takes all lines of the case that comes next in `source`: under every target, trial by trial.
    fn case(&mut self, source: &mut Source, header: &RunHeader) -> Result<(), MergeError> {
        let Some(position) = source.position() else { return Ok(()) };
        let mut seen: Option<(String, Option<Digest>)> = None;
        let mut targets: BTreeMap<usize, u32> = BTreeMap::new();
        while let Some(head) = source.head.take_if(|head| head.position == position) {
            let Head { text, line, .. } = head;
            if seen.is_none() && !source.part.shard.holds(&line.case) {
                return Err(source.wrong(format!("case `{}` does not fall into this shard", line.case)));
            }
            let (id, content) = seen.get_or_insert_with(|| (line.case.clone(), line.content));
            if (&*id, *content) != (&line.case, line.content) {
                return Err(source.wrong("two cases stand in one place"));
            }
            let target = header.targets.iter().position(|target| **target == *line.target);
            let target =
                target.ok_or_else(|| source.wrong(format!("target `{}` is not in the first line", line.target)))?;
            let last = targets.last_key_value().map(|(target, trial)| (*target, *trial));
            if last.is_some_and(|last| last >= (target, line.trial)) {
                return Err(source.wrong("the lines of a case are not in order"));
            }
            targets.insert(target, line.trial);
            let offset = self.writer.copy(&text)?;
            self.builder.outcome(&line, offset).map_err(|problem| source.wrong(problem))?;
            source.advance()?;
        }
        let Some((id, content)) = seen else { return Ok(()) };
        if targets.len() < header.targets.len() {
            return Err(MergeError::Missing(format!("{}: case `{id}` has no line for some target", source.shown())));
        }
        let content = content.ok_or_else(|| source.wrong(format!("case `{id}` has no `content`")))?;
        self.set.add(&id, content);
        Ok(())
    }
}

/// One shard's file while it is read.
struct Source {
    part: Part,
    header: RunHeader,
    lines: Lines,
    /// The line that comes next.
    head: Option<Head>,
    outcomes: u64,
    end: Option<Completion>,
}

struct Head {
    position: u64,
    /// As one machine would have written it.
    text: String,
    line: OutcomeLine,
}

impl Source {
    fn open(path: &Path) -> Result<Self, MergeError> {
        let mut lines = Lines::open(path)?;
        let first = lines.next()?.ok_or_else(|| lines.corrupt("the file is empty"))?;
        let line: FirstLine = serde_json::from_str(&first.text).unwrap_or_default();
        let no_shard = |what: &str| MergeError::Files(format!("{} {what}", path.display()));
        if line.kind.as_deref() != Some(KIND) {
            return Err(no_shard("is no results file of scoregate"));
        }
        match line.schema {
            None => return Err(no_shard("does not say its `schema` in its first line")),
            Some(found) if found > RESULTS_SCHEMA => {
                return Err(StoreError::Newer { path: path.to_owned(), found, known: RESULTS_SCHEMA }.into());
            }
            Some(_) => {}
        }
        let header: RunHeader = lines.parse(&first.text)?;
        let part = header.shard.ok_or_else(|| no_shard("is a whole run, not a shard of one"))?;
        Ok(Self { part, header, lines, head: None, outcomes: 0, end: None })
    }

    /// `a/results.jsonl (shard 2 of 8)`.
    fn shown(&self) -> String {
        format!("{} (shard {})", self.lines.path.display(), self.part.shard)
    }

    fn position(&self) -> Option<u64> {
        self.head.as_ref().map(|head| head.position)
    }

    /// What is wrong at the line that was read last.
    fn wrong(&self, problem: impl Into<String>) -> MergeError {
        MergeError::Store(self.lines.corrupt(problem))
    }

    fn cut_off(&self) -> MergeError {
        MergeError::Missing(format!("{} is cut off: it has no end line; run this shard again", self.shown()))
    }

    /// Reads the next line; at the end, checks it.
    fn advance(&mut self) -> Result<(), MergeError> {
        let Some(line) = self.lines.next()? else { return Err(self.cut_off()) };
        let kind: FirstLine = match serde_json::from_str(&line.text) {
            Ok(kind) => kind,
            Err(_) if line.last => return Err(self.cut_off()),
            Err(error) => return Err(self.wrong(error.to_string())),
        };
        match kind.kind.as_deref() {
            Some("outcome") => {
                let outcome: OutcomeLine = self.lines.parse(&line.text)?;
                let position = outcome.index.ok_or_else(|| self.wrong("the line says no `index`"))?;
                // The text as it is: what is written anew might differ in a number's last digit.
                let rest = line.text.strip_prefix(&format!("{{\"type\":\"outcome\",\"index\":{position},"));
                let rest = rest.ok_or_else(|| self.wrong("the line does not begin as scoregate writes it"))?;
                self.head = Some(Head { position, text: format!("{{\"type\":\"outcome\",{rest}"), line: outcome });
                self.outcomes += 1;
                Ok(())
            }
            Some("end") => {
                let end = self.lines.parse(&line.text)?;
                self.finish(end)
            }
            _ => Err(self.wrong("a line is neither `outcome` nor `end`")),
        }
    }

    fn finish(&mut self, end: Completion) -> Result<(), MergeError> {
        if !end.complete {
            let why = end.reason.as_deref().unwrap_or("it was stopped before its end");
            return Err(MergeError::Missing(format!(
                "{} is not complete: {why}; run this shard again, what was paid for is in its ledger",
                self.shown()
            )));
        }
        if end.outcomes != self.outcomes {
            let (stated, found) = (end.outcomes, self.outcomes);
            return Err(self.wrong(format!("the end line speaks of {stated} outcomes, the file holds {found}")));
        }
        if self.lines.next()?.is_some() {
            return Err(self.wrong("there is a line after the end line"));
        }
        self.end = Some(end);
        Ok(())
    }
}

/// What two shards of one run must have in common.
fn difference(first: &Source, other: &Source) -> Option<String> {
    let (a, b) = (&first.header, &other.header);
    let digest = |digest: &Option<Digest>| digest.map_or_else(|| "none".to_owned(), |digest| digest.to_string());
    let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "none".to_owned());
    fn names<T: fmt::Debug>(value: &T) -> String {
        format!("{value:?}")
    }
    let count = |source: &Source| (source.part.shard.total(), source.part.of);
    let parts = |source: &Source| format!("{} shards of {} cases", source.part.shard.total(), source.part.of);
    let pairs = [
        ("suites", a.suite == b.suite, a.suite.clone(), b.suite.clone()),
        ("versions of the suite", a.suite_digest == b.suite_digest, digest(&a.suite_digest), digest(&b.suite_digest)),
        ("numbers of shards or cases", count(first) == count(other), parts(first), parts(other)),
        ("data", a.dataset_digest == b.dataset_digest, digest(&a.dataset_digest), digest(&b.dataset_digest)),
        ("selections", a.selection == b.selection, names(&a.selection), names(&b.selection)),
        ("commits", a.commit == b.commit, text(&a.commit), text(&b.commit)),
        ("branches", a.branch == b.branch, text(&a.branch), text(&b.branch)),
        ("versions of scoregate", a.tool == b.tool, a.tool.clone(), b.tool.clone()),
        ("targets", a.targets == b.targets, a.targets.join(", "), b.targets.join(", ")),
        ("trials", a.trials == b.trials, a.trials.to_string(), b.trials.to_string()),
        ("models", a.models == b.models, names(&a.models), names(&b.models)),
        ("metrics", a.metrics == b.metrics, metrics(a, b), metrics(b, a)),
        ("records", a.record == b.record, names(&a.record), names(&b.record)),
        ("filters", a.filtered == b.filtered, a.filtered.to_string(), b.filtered.to_string()),
    ];
    let (what, _, here, there) = pairs.into_iter().find(|(_, same, _, _)| !same)?;
    Some(format!("the shards are of different {what}: {here} in {}, {there} in {}", first.shown(), other.shown()))
}

/// The metrics of `a` that `b` does not have just so.
fn metrics(a: &RunHeader, b: &RunHeader) -> String {
    let own = a.metrics.iter().filter(|metric| !b.metrics.contains(metric));
    let own: Vec<String> = own
        .map(|metric| {
            let parts = metric.fingerprint.iter().flat_map(|fingerprint| &fingerprint.0);
            let parts: Vec<String> = parts.map(|(name, value)| format!("{name} {value}")).collect();
            format!("{} ({})", metric.name, parts.join(", "))
        })
        .collect();
    if own.is_empty() { "in another order".to_owned() } else { own.join(", ") }
}

/// Every shard stands here once. `sources` are sorted.
fn complete(sources: &[Source]) -> Result<(), MergeError> {
    let pairs = sources.iter().zip(sources.iter().skip(1));
    for (one, other) in pairs {
        if one.part.shard == other.part.shard {
            let (shard, path) = (one.part.shard, other.lines.path.display());
            return Err(MergeError::Files(format!("shard {shard} stands twice: {}, {path}", one.lines.path.display())));
        }
    }
    let total = sources.first().map_or(0, |source| source.part.shard.total());
    let here = |index: u32| sources.binary_search_by_key(&index, |source| source.part.shard.index()).is_ok();
    let missing: Vec<String> = (1..=total).filter(|index| !here(*index)).map(|index| index.to_string()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let more = missing.len().saturating_sub(NAMED);
    let named: Vec<&str> = missing.iter().take(NAMED).map(String::as_str).collect();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let noun = if missing.len() == 1 { "shard" } else { "shards" };
    Err(MergeError::Missing(format!("{noun} {}{more} of {total} missing", named.join(", "))))
}

fn joined(sources: &[Source], first: &Source) -> RunHeader {
    let id = Digest::of(sources.iter().map(|source| source.header.id.as_bytes())).to_string();
    RunHeader {
        id: id.chars().take(ID).collect(),
        started: sources.iter().filter_map(|source| source.header.started.clone()).min(),
        cases: first.part.of,
        shard: None,
        ..first.header.clone()
    }
}

/// What all shards took together; they ran side by side, so the longest is the time.
fn end_of(sources: &[Source], outcomes: u64) -> Completion {
    let mut end = Completion { complete: true, outcomes, ..Completion::default() };
    let mut spent = Spent::default();
    for one in sources.iter().filter_map(|source| source.end.as_ref()) {
        end.calls += one.calls;
        end.scores += one.scores;
        spent += Spent { usage: one.usage, cost: one.cost };
        end.elapsed_ms = end.elapsed_ms.max(one.elapsed_ms);
    }
    end.usage = spent.usage;
    end.cost = spent.cost.map(|Usd(sum)| Usd((sum * 1e9).round() / 1e9));
    end
}
