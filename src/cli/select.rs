//! Fewer cases than the suite selects: by id, by tag, by how they fared before, by what changed, and a sample of what is left.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use regex::Regex;

use super::args::SelectArgs;
use super::failure::Failed;
use super::{reference, screen};
use crate::dataset::{Dataset, Strata};
use crate::domain::{Case, Digest, MetricSpec, Selection};
use crate::gate::{Fared, Policy, fared};
use crate::store::read_runs;
use crate::text::number::counted;
use crate::text::suggest;

/// Names that a suggestion is looked for among.
const KNOWN: usize = 10_000;
/// Cases named in a message.
const NAMED: usize = 5;

/// Leaves in `dataset` what is asked for. `None`: everything is.
///
/// # Errors
/// A flag that no case fits, a file that cannot be read, nothing left.
pub(super) fn narrow(
    args: &SelectArgs,
    dataset: &mut Dataset,
    policy: &Policy,
    metrics: &[MetricSpec],
) -> Result<Option<Selection>, Failed> {
    let mut filter = Filter::build(args, policy, metrics)?;
    let by = written(args);
    if by.is_empty() {
        return Ok(None);
    }
    let of = dataset.len;
    dataset.keep(&mut |case| filter.wants(case))?;
    filter.unmatched()?;
    if let Some(n) = args.sample {
        let mut strata = Strata::new(args.seed.unwrap_or_default());
        for case in dataset.cases() {
            strata.offer(&case?);
        }
        let chosen = strata.choose(n.get());
        dataset.keep(&mut |case| chosen.contains(&case.index))?;
    }
    if dataset.len == 0 {
        let message = format!("no case is left by {}", by.join(" "));
        return Err(Failed::usage("no-cases", message, "a run without cases never passes; leave out a flag"));
    }
    Ok((dataset.len < of).then_some(Selection { by, of: of as u64 }))
}

/// The flags as somebody would write them.
fn written(args: &SelectArgs) -> Vec<String> {
    let SelectArgs { cases, tags, only_failed, only_failed_scores, only_errors, only_changed, sample, seed, shard: _ } =
        args;
    let mut flags: Vec<String> = cases.iter().map(|case| format!("--case {case}")).collect();
    flags.extend(tags.iter().map(|tag| format!("--tag {tag}")));
    for (flag, path) in [
        ("--only-failed", only_failed),
        ("--only-failed-scores", only_failed_scores),
        ("--only-errors", only_errors),
        ("--only-changed", only_changed),
    ] {
        flags.extend(path.as_ref().map(|path| format!("{flag} {}", path.display())));
    }
    flags.extend(sample.map(|n| format!("--sample {n} --seed {}", seed.unwrap_or_default())));
    flags
}

/// Kinds of flags must all agree; of several flags of one kind, one is enough.
struct Filter {
    cases: Vec<Pattern>,
    tags: Vec<Tag>,
    /// Cases of an earlier run; those that were not met remain.
    earlier: Option<Earlier>,
    /// Contents of a baseline's cases.
    known: Option<HashMap<String, Option<Digest>>>,
    /// For suggestions.
    ids: Vec<String>,
    all_tags: BTreeSet<String>,
}

struct Pattern {
    text: String,
    /// `None`: the text is an id.
    regex: Option<Regex>,
    met: bool,
}

struct Tag {
    text: String,
    met: bool,
}

struct Earlier {
    path: PathBuf,
    wanted: BTreeSet<String>,
    left: BTreeSet<String>,
}

impl Filter {
    fn build(args: &SelectArgs, policy: &Policy, metrics: &[MetricSpec]) -> Result<Self, Failed> {
        let declared = reference::scales(metrics);
        let cases = args.cases.iter().map(|text| Pattern::build(text)).collect::<Result<_, _>>()?;
        let tags = args.tags.iter().map(|text| Tag { text: text.clone(), met: false }).collect();
        let wishes: [(&Option<PathBuf>, &[Fared], &str); 3] = [
            (&args.only_failed, &[Fared::Failed, Fared::Errored], "failed"),
            (&args.only_failed_scores, &[Fared::Failed], "failed with a score"),
            (&args.only_errors, &[Fared::Errored], "could not be measured"),
        ];
        let mut earlier = None;
        for (path, fates, what) in wishes {
            if let Some(path) = path {
                earlier = Some(Earlier::read(path, fates, what, policy, &declared)?);
            }
        }
        let known = args.only_changed.as_ref().map(|path| contents(path, &declared)).transpose()?;
        Ok(Self { cases, tags, earlier, known, ids: Vec::new(), all_tags: BTreeSet::new() })
    }

    fn wants(&mut self, case: &Case) -> bool {
        let mut by_id = self.cases.is_empty();
        for pattern in &mut self.cases {
            let fits = match &pattern.regex {
                Some(regex) => regex.is_match(&case.id),
                None => *pattern.text == *case.id,
            };
            pattern.met |= fits;
            by_id |= fits;
        }
        if !self.cases.is_empty() && self.ids.len() < KNOWN {
            self.ids.push(case.id.to_string());
        }
        let mut by_tag = self.tags.is_empty();
        for tag in &mut self.tags {
            let fits = case.tags.iter().any(|has| **has == *tag.text);
            tag.met |= fits;
            by_tag |= fits;
        }
        if !self.tags.is_empty() && self.all_tags.len() < KNOWN {
            self.all_tags.extend(case.tags.iter().map(ToString::to_string));
        }
        let by_fate = self.earlier.as_mut().is_none_or(|earlier| {
            earlier.left.remove(&*case.id);
            earlier.wanted.contains(&*case.id)
        });
        // A content that is not known may have changed.
        let by_change =
            self.known.as_ref().is_none_or(|known| known.get(&*case.id).copied().flatten() != Some(case.content));
        by_id && by_tag && by_fate && by_change
    }

    /// A flag that fits no case is a mistake: it must not leave fewer cases than was meant.
    fn unmatched(&self) -> Result<(), Failed> {
        if let Some(pattern) = self.cases.iter().find(|pattern| !pattern.met) {
            let message = format!("no case fits `--case {}`", pattern.text);
            let help = match &pattern.regex {
                None => suggest::did_you_mean(&pattern.text, self.ids.iter().map(String::as_str)),
                Some(_) => None,
            };
            let help = help
                .unwrap_or_else(|| "give an id, or a regular expression between slashes: `--case /^zh/`".to_owned());
            return Err(Failed::usage("unknown-case", message, help));
        }
        if let Some(tag) = self.tags.iter().find(|tag| !tag.met) {
            let message = format!("no case has the tag `{}`", tag.text);
            let known: Vec<&str> = self.all_tags.iter().map(String::as_str).collect();
            let help = suggest::did_you_mean(&tag.text, known.iter().copied()).unwrap_or_else(|| match known.len() {
                0 => "the cases have no tags; map the column with `fields.tags`".to_owned(),
                1..=20 => format!("the tags are {}", suggest::list(known, "and")),
                more => format!("there are {more} tags, none of them like this"),
            });
            return Err(Failed::usage("unknown-tag", message, help));
        }
        if let Some(earlier) = &self.earlier
            && !earlier.left.is_empty()
        {
            let named: Vec<&str> = earlier.left.iter().take(NAMED).map(String::as_str).collect();
            let cases = counted(earlier.left.len() as u64, "case", "cases");
            let (path, named) = (earlier.path.display(), named.join(", "));
            screen::message(&format!("note: {cases} of {path} no longer in the data set: {named}"));
        }
        Ok(())
    }
}

impl Pattern {
    fn build(text: &str) -> Result<Self, Failed> {
        let between = text.strip_prefix('/').and_then(|rest| rest.strip_suffix('/'));
        let regex = between.map(Regex::new).transpose().map_err(|error| {
            let message = format!("`--case {text}` is no regular expression: {error}");
            Failed::usage("bad-regex", message, "the syntax is docs.rs/regex; an id is written without slashes")
        })?;
        Ok(Self { text: text.to_owned(), regex, met: false })
    }
}

impl Earlier {
    fn read(
        path: &Path,
        fates: &[Fared],
        what: &str,
        policy: &Policy,
        declared: &[MetricSpec],
    ) -> Result<Self, Failed> {
        let mut fared_as: BTreeMap<_, Fared> = BTreeMap::new();
        for run in read_runs(path, declared)? {
            if !run.completion.as_ref().is_some_and(|end| end.complete) {
                screen::message(&format!(
                    "note: {} is not complete; cases that it does not hold are not selected",
                    path.display()
                ));
            }
            for (id, fate) in fared(&run, policy) {
                let known = fared_as.entry(id).or_insert(fate);
                *known = (*known).max(fate);
            }
        }
        let ids = fared_as.into_iter().filter(|(_, fate)| fates.contains(fate)).map(|(id, _)| id.to_string());
        let wanted: BTreeSet<String> = ids.collect();
        if wanted.is_empty() {
            let message = format!("no case {what} in {}", path.display());
            return Err(Failed::usage(
                "no-cases",
                message,
                "there is nothing to run again; a metric without `pass_mark` (gate.metrics.NAME) cannot fail a case, unless its evaluator says so",
            ));
        }
        Ok(Self { path: path.to_owned(), left: wanted.clone(), wanted })
    }
}

fn contents(path: &Path, declared: &[MetricSpec]) -> Result<HashMap<String, Option<Digest>>, Failed> {
    let baseline = reference::stored(path, declared)?;
    Ok(baseline.cases.into_iter().map(|case| (case.id.to_string(), case.content)).collect())
}
