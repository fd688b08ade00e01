//! One entry of `dataset`: its settings, its files, and the first reading.

use serde_json::{Map, Value};

use super::build::{Built, Recipe, Tags};
use super::field::{ANSWER, LISTS, REFERENCE, mapping};
use super::sample::{Candidate, CaseNames, Smallest, key};
use super::settings::{DatasetSettings, SampleSettings};
use crate::diagnostic::{Diagnostic, Diagnostics, Level};
use crate::domain::{Case, CaseSet};
use crate::rows::{
    DataFile, Fault, Layout, Lists, Mapping, OneOrMany, Problems, RowReader, expand, hash, missing_column, open,
};
use crate::suite::{Block, Draft, Suite};
use crate::text::expression::Expression;

/// A checked entry; after [`Entry::scan`] it knows which records are cases.
pub(super) struct Entry {
    block: Block,
    /// `path` as written, for messages.
    written: String,
    pub files: Vec<OpenedFile>,
    pub layout: Layout,
    pub recipe: Recipe,
    condition: Option<Expression>,
    sample: Option<SampleSettings>,
}

/// What the first reading keeps of a file: a bit a record and four bytes a case.
pub(super) struct OpenedFile {
    pub file: DataFile,
    pub records: u32,
    /// A bit a record: it is a case.
    selected: Vec<u64>,
    /// Of the records that are cases, in order.
    pub checksums: Vec<u32>,
}

/// What the first reading found, for checks over all entries.
#[derive(Default)]
pub(super) struct Scan {
    pub records: usize,
    pub selected: usize,
    /// Hashes of the ids of all records, and of those that are cases.
    pub all_ids: Vec<u64>,
    pub case_ids: Vec<u64>,
    /// Cases with a recorded answer.
    pub answered: usize,
    /// Hashes of the cases' questions.
    pub questions: Vec<u64>,
    /// Over the cases' ids and contents, whatever their order.
    pub sum: u128,
    /// Every file and row could be read.
    pub sound: bool,
    matched: usize,
    empty_references: usize,
    odd_ids: usize,
    /// Names of the condition that some row had.
    seen: Vec<String>,
    empty_files: Vec<String>,
}

impl OpenedFile {
    fn new(file: DataFile) -> Self {
        Self { file, records: 0, selected: Vec::new(), checksums: Vec::new() }
    }

    pub(super) fn select(&mut self, record: u32, checksum: u32) {
        let (word, bit) = (record as usize / 64, record % 64);
        if self.selected.len() <= word {
            self.selected.resize(word + 1, 0);
        }
        if let Some(word) = self.selected.get_mut(word) {
            *word |= 1 << bit;
        }
        self.checksums.push(checksum);
    }

    pub(super) fn select_none(&mut self) {
        self.selected.clear();
        self.checksums.clear();
    }

    pub(super) fn is_selected(&self, record: u32) -> bool {
        self.selected.get(record as usize / 64).is_some_and(|word| word & (1 << (record % 64)) != 0)
    }
}

impl Entry {
    /// `None` after pushing every problem of the settings, and of the files' being there. Rows are read only as whole settings say.
    pub(super) fn build(block: &Block, suite: &Suite, diagnostics: &mut Diagnostics) -> Option<Self> {
        let Draft { settings, sound } = block.draft::<DatasetSettings>(diagnostics)?;
        let mut problems = Diagnostics::default();
        let layout = Layout::build(&settings.layout).unwrap_or_else(|wrong| {
            for (pointer, reason) in wrong {
                problems.push(block.problem(pointer, "invalid-settings", reason));
            }
            Layout::default()
        });
        let lists = Lists::build(settings.layout.lists.as_ref(), &LISTS).unwrap_or_else(|wrong| {
            for (pointer, reason) in wrong {
                problems.push(block.problem(&format!("/lists{pointer}"), "invalid-settings", reason));
            }
            Lists::default()
        });
        let (mapping, metadata) = mapping(&settings.fields, block, &mut problems);
        let condition = settings.condition.as_deref().and_then(|text| {
            Expression::parse(text)
                .map_err(|error| {
                    problems.push(
                        block
                            .problem("/where", "where", format!("the condition cannot be read: {error}"))
                            .help("for instance: lang == 'zh' and not (tags contains 'slow')"),
                    );
                })
                .ok()
        });
        let files = files(&settings, block, suite, &mut problems);
        let sound = sound && !problems.has_errors();
        diagnostics.extend(problems);
        sound.then(|| Self {
            block: block.clone(),
            written: settings.path.as_slice().join(", "),
            files: files.into_iter().map(OpenedFile::new).collect(),
            layout,
            recipe: Recipe { mapping, lists, metadata, tags: Tags::default() },
            condition,
            sample: settings.sample,
        })
    }

    /// The first reading: every row becomes a case or a problem.
    pub(super) fn scan(&mut self, problems: &mut Problems) -> Scan {
        let before = problems.len();
        let mut scan = Scan::default();
        let mut chosen = self.sample.map(|sample| Smallest::new(sample.n.get()));
        for at in 0..self.files.len() {
            if let Err(problem) = self.scan_file(at, &mut scan, chosen.as_mut(), problems) {
                problems.push(problem);
            }
        }
        for candidate in chosen.map(Smallest::into_order).unwrap_or_default() {
            if let Some(opened) = self.files.get_mut(candidate.file) {
                scan.take(opened, &candidate);
            }
        }
        scan.sound = problems.len() == before;
        scan
    }

    fn scan_file(
        &mut self,
        at: usize,
        scan: &mut Scan,
        mut chosen: Option<&mut Smallest>,
        problems: &mut Problems,
    ) -> Result<(), Diagnostic> {
        let Some(opened) = self.files.get_mut(at) else { return Ok(()) };
        let mut reader = open(&opened.file, &self.layout)?;
        let shown = std::sync::Arc::clone(&opened.file.shown);
        if !has_columns(&*reader, &self.recipe.mapping, &shown, problems) {
            return Ok(());
        }
        let mut rows = 0_u32;
        while reader.advance()? {
            let record = rows;
            rows = rows.saturating_add(1);
            let read = Reading { recipe: &self.recipe, condition: self.condition.as_ref() };
            let built = match read.case(&*reader, &shown, scan) {
                Ok(built) => built,
                Err(Wrong::Record(problem)) => {
                    problems.push(problem);
                    continue;
                }
                Err(Wrong::Field(fault)) => {
                    let message = format!("record {}: {}", record.saturating_add(1), fault.reason);
                    problems.push(fault.diagnostic("bad-row", message, &*reader, &self.recipe.mapping, &shown));
                    continue;
                }
            };
            let id = hash(&built.case.id);
            scan.all_ids.push(id);
            if !built.holds {
                continue;
            }
            scan.matched += 1;
            let candidate = Candidate {
                key: self.sample.map_or([0; 16], |sample| key(sample.seed, &built.case.id)),
                file: at,
                record,
                checksum: reader.checksum(),
                id,
                question: hash(&folded(&built.case.input)),
                sum: CaseSet::sum_of(&built.case.id, built.case.content),
            };
            match chosen.as_deref_mut() {
                Some(chosen) => chosen.offer(candidate),
                None => scan.take(opened, &candidate),
            }
        }
        opened.records = rows;
        opened.checksums.shrink_to_fit();
        scan.records = scan.records.saturating_add(rows as usize);
        if rows == 0 {
            scan.empty_files.push(shown.to_string());
        }
        Ok(())
    }

    /// What the reading as a whole says: nothing selected, names and mappings that no row knows, questionable data.
    /// Nothing is said of what could not be read.
    pub(super) fn check_selection(&self, scan: &Scan, diagnostics: &mut Diagnostics, warnings: &mut Diagnostics) {
        if !scan.sound {
            return;
        }
        for (name, selector) in self.recipe.mapping.never_filled() {
            if scan.records > 0 {
                let message = format!("no row of {} has `{selector}`, which is mapped to `{name}`", self.written);
                diagnostics.push(self.block.problem(&format!("/fields/{name}"), "unmatched-field", message));
            }
        }
        if let Some(condition) = &self.condition {
            for name in condition.names().iter().filter(|name| scan.records > 0 && !scan.seen.contains(name)) {
                let message = format!("no row of {} has the name `{name}` that the condition asks for", self.written);
                diagnostics.push(self.block.problem("/where", "unknown-name", message));
            }
        }
        if scan.selected == 0 {
            diagnostics.push(self.nothing_selected(scan));
        }
        self.warn(scan, warnings);
    }

    fn nothing_selected(&self, scan: &Scan) -> Diagnostic {
        match (&self.condition, scan.records) {
            (Some(condition), 1..) => self.block.problem(
                "/where",
                "no-cases",
                format!(
                    "no case is left: `{}` holds for none of the {} rows of {}",
                    condition.as_str(),
                    scan.records,
                    self.written
                ),
            ),
            _ => self
                .block
                .problem("/path", "no-cases", format!("no case: {} holds no rows", self.written))
                .help("an empty data set never passes; add rows, or take the entry out"),
        }
    }

    fn warn(&self, scan: &Scan, warnings: &mut Diagnostics) {
        let mut warn = |pointer: &str, code: &'static str, message: String| {
            let problem = self.block.problem(pointer, code, message);
            warnings.push(Diagnostic { level: Level::Warning, ..problem });
        };
        if scan.empty_references > 0 && self.recipe.mapping.is_filled(REFERENCE) {
            let (n, of) = (scan.empty_references, scan.selected);
            warn("/path", "empty-reference", format!("{n} of {of} cases of {} have no reference", self.written));
        }
        if scan.odd_ids > 0 {
            let message = format!(
                "{} rows of {} have expected context ids that look like passages; map passages to `expected_texts`",
                scan.odd_ids, self.written
            );
            warn("/path", "passage-as-id", message);
        }
        for file in scan.empty_files.iter().filter(|_| scan.records > 0).take(5) {
            warn("/path", "empty-file", format!("{file} holds no rows"));
        }
        if let Some(sample) = self.sample
            && scan.matched < sample.n.get()
        {
            let message =
                format!("a sample of {} was asked for, and there are {} rows: all are taken", sample.n, scan.matched);
            warn("/sample", "small-sample", message);
        }
    }

    /// What a suite that maps columns away takes from the recorded answers, for who asks for them: (column, the field it is mapped to).
    pub(super) fn answers_taken(&self) -> Vec<(&'static str, &'static str)> {
        self.recipe.mapping.taken_from(ANSWER)
    }

    /// An error at a setting of this entry.
    pub(super) fn problem(&self, pointer: &str, code: &'static str, message: String) -> Diagnostic {
        self.block.problem(pointer, code, message)
    }
}

/// How a record becomes a case that is wanted or not.
struct Reading<'e> {
    recipe: &'e Recipe,
    condition: Option<&'e Expression>,
}

struct Read {
    case: Case,
    holds: bool,
}

enum Wrong {
    Record(Diagnostic),
    Field(Fault),
}

impl Reading<'_> {
    fn case(&self, reader: &dyn RowReader, shown: &std::sync::Arc<str>, scan: &mut Scan) -> Result<Read, Wrong> {
        let row = reader.row().map_err(Wrong::Record)?;
        let columns = self.condition.map(|_| row.clone().into_map());
        let Built { case, odd_id, .. } = self.recipe.build(row, shown).map_err(Wrong::Field)?;
        let holds = match (self.condition, &columns) {
            (Some(condition), Some(columns)) => {
                self.holds(condition, &case, columns, scan).map_err(|reason| Wrong::Field(reason.into()))?
            }
            _ => true,
        };
        if holds {
            scan.answered += usize::from(case.recorded.is_some());
            scan.odd_ids += usize::from(odd_id);
            scan.empty_references += usize::from(case.reference.as_deref().is_none_or(|text| text.trim().is_empty()));
        }
        Ok(Read { case, holds })
    }

    fn holds(
        &self,
        condition: &Expression,
        case: &Case,
        columns: &Map<String, Value>,
        scan: &mut Scan,
    ) -> Result<bool, String> {
        use crate::text::expression::Names as _;
        let names = CaseNames { case, columns };
        for name in condition.names() {
            if !scan.seen.contains(name) && names.value(name).is_some() {
                scan.seen.push(name.clone());
            }
        }
        condition.holds(&names).map_err(|reason| format!("the condition fails here: {reason}"))
    }
}

impl Scan {
    fn take(&mut self, opened: &mut OpenedFile, candidate: &Candidate) {
        opened.select(candidate.record, candidate.checksum);
        self.selected += 1;
        self.case_ids.push(candidate.id);
        self.questions.push(candidate.question);
        self.sum = self.sum.wrapping_add(candidate.sum);
    }
}

/// False after reporting the mapped columns that the file's header lacks.
fn has_columns(reader: &dyn RowReader, mapping: &Mapping, file: &str, problems: &mut Problems) -> bool {
    let Some(header) = reader.columns().filter(|header| !header.is_empty()) else { return true };
    let missing = mapping.missing_in(header);
    for (field, column) in &missing {
        problems.push(missing_column(file, field, column, header));
    }
    missing.is_empty()
}

/// Every file once, in the order of the paths and sorted within each.
fn files(settings: &DatasetSettings, block: &Block, suite: &Suite, problems: &mut Diagnostics) -> Vec<DataFile> {
    let mut files: Vec<DataFile> = Vec::new();
    let paths = settings.path.as_slice();
    if paths.is_empty() {
        problems.push(block.problem("/path", "dataset-path", "the list of paths is empty"));
    }
    for (at, path) in paths.iter().enumerate() {
        match expand(suite, path) {
            Ok(found) => {
                let fresh: Vec<_> = found.into_iter().filter(|file| !files.contains(file)).collect();
                files.extend(fresh);
            }
            Err(error) => {
                let many = matches!(settings.path, OneOrMany::Many(_));
                let pointer = if many { format!("/path/{at}") } else { "/path".to_owned() };
                problems.push(error.at(block, &pointer));
            }
        }
    }
    files
}

/// A question as it is compared with others: lower case, white space joined.
pub(super) fn folded(input: &str) -> String {
    let mut text = String::with_capacity(input.len());
    for word in input.split_whitespace() {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(word);
    }
    text.to_lowercase()
}
