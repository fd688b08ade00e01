//! The benchmark itself: what all rows share.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;

use crate::Error;
use crate::arguments::Arguments;
use crate::cases;
use crate::measured::{Measured, median};
use crate::place::{GATE, Place, Provider, Suite};
use crate::provider::{Limit, Settings, Stats};
use crate::rows::GROUPS;
use crate::table::{self, Row};

/// # Errors
/// Where something could not be measured; a missed target is none.
pub fn run(arguments: &[String]) -> Result<(), Error> {
    let Some(arguments) = Arguments::read(arguments)? else { return Ok(()) };
    let bench = Bench::new(&arguments)?;
    println!("{}\n", bench.about()?);
    let mut rows: Vec<Row> = Vec::new();
    for group in GROUPS.iter().filter(|group| arguments.want(group.names)) {
        eprintln!("measuring {} …", group.names.join(", "));
        rows.extend((group.measure)(&bench)?.into_iter().filter(|row| arguments.want(&[row.name])));
    }
    table::print(&rows);
    Ok(())
}

/// A run of the same calls by scoregate and by the floor, one after the other, each against a fresh provider.
pub struct Pair {
    pub scoregate: Measured,
    pub seen: Stats,
    pub floor: Measured,
}

/// What is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Work {
    /// Each is two calls.
    pub cases: usize,
    pub latency_ms: u64,
    pub workers: usize,
}

impl Work {
    pub fn calls(self) -> f64 {
        self.cases as f64 * 2.0
    }

    /// Seconds: calls × latency / workers.
    pub fn ideal(self) -> f64 {
        self.calls() * self.latency_ms as f64 / 1000.0 / self.workers as f64
    }
}

pub struct Bench {
    pub binary: PathBuf,
    pub me: PathBuf,
    pub repeat: usize,
    scratch: tempfile::TempDir,
    places: Cell<usize>,
    /// Rows that look at the same runs share them.
    known: RefCell<HashMap<Work, Rc<Vec<Pair>>>>,
}

impl Bench {
    fn new(arguments: &Arguments) -> Result<Self, Error> {
        Ok(Self {
            binary: arguments.binary.clone(),
            me: std::env::current_exe()?,
            repeat: arguments.repeat,
            scratch: tempfile::tempdir()?,
            places: Cell::new(0),
            known: RefCell::default(),
        })
    }

    /// What is measured, and where.
    fn about(&self) -> Result<String, Error> {
        let output = std::process::Command::new(&self.binary).arg("--version").output();
        let output = output.map_err(|error| format!("{}: {error}", self.binary.display()))?;
        let version = String::from_utf8(output.stdout)?;
        let cores = std::thread::available_parallelism()?;
        let cpus = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let cpu = cpus.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
        let cpu = cpu.map_or(std::env::consts::ARCH, |(_, name)| name);
        Ok(format!("{}, {cores} cores ({cpu}), medians of {}", version.trim(), self.repeat))
    }

    /// A fresh provider and a fresh folder whose suite asks it.
    ///
    /// # Errors
    /// Where one of them cannot be made.
    pub fn stage(&self, cases: usize, workers: usize, settings: &Settings) -> Result<(Provider, Place), Error> {
        let data = self.scratch.path().join(format!("cases-{cases}.jsonl"));
        if !data.exists() {
            cases::write(&data, cases)?;
        }
        let provider = Provider::start(&self.me, settings)?;
        let number = self.places.get();
        self.places.set(number + 1);
        let suite = Suite { url: &provider.url, workers, gate: GATE };
        let place = Place::new(self.scratch.path().join(number.to_string()), suite, &data)?;
        Ok((provider, place))
    }

    /// `scoregate run` in a place; killed after `limit` milliseconds, if that is more than 0.
    ///
    /// # Errors
    /// Where it does not start.
    pub fn scoregate(&self, place: &Place, limit: u64) -> Result<Measured, Error> {
        place.run(&self.me, limit, &self.binary, &["run", "scoregate.yaml"])
    }

    /// The same work by scoregate and by the floor, as often as wanted.
    ///
    /// # Errors
    /// Where a run does not end as it should.
    pub fn pairs(&self, work: Work) -> Result<Rc<Vec<Pair>>, Error> {
        if let Some(known) = self.known.borrow().get(&work) {
            return Ok(Rc::clone(known));
        }
        let settings = Settings { latency_ms: work.latency_ms as f64, ..Settings::default() };
        let pairs = (0..self.repeat).map(|_| self.pair(work, &settings)).collect::<Result<Vec<_>, _>>()?;
        let pairs = Rc::new(pairs);
        self.known.borrow_mut().insert(work, Rc::clone(&pairs));
        Ok(pairs)
    }

    fn pair(&self, work: Work, settings: &Settings) -> Result<Pair, Error> {
        let (scoregate, seen) = self.once(work, settings)?;
        if seen.unique_ok != work.cases as u64 * 2 {
            return Err(format!("{} of {} calls were answered", seen.unique_ok, work.calls()).into());
        }
        let (provider, place) = self.stage(work.cases, work.workers, settings)?;
        let floor = place.floor(&self.me, &provider.url, work.workers, settings.limit.is_some())?;
        Ok(Pair { scoregate, seen, floor })
    }

    /// scoregate alone; it must pass.
    ///
    /// # Errors
    /// Where it does not.
    pub fn once(&self, work: Work, settings: &Settings) -> Result<(Measured, Stats), Error> {
        let (provider, place) = self.stage(work.cases, work.workers, settings)?;
        let measured = self.scoregate(&place, 0)?;
        place.expect(&measured, &[0])?;
        Ok((measured, provider.stats()?))
    }

    /// The same under a limit, with a floor that keeps it.
    ///
    /// # Errors
    /// Where a run does not end as it should.
    pub fn limited(&self, work: Work, limit: Limit) -> Result<Vec<Pair>, Error> {
        let settings = limited(work, limit);
        (0..self.repeat).map(|_| self.pair(work, &settings)).collect()
    }

    /// scoregate alone under a limit.
    ///
    /// # Errors
    /// Where it does not pass.
    pub fn once_limited(&self, work: Work, limit: Limit) -> Result<(Measured, Stats), Error> {
        self.once(work, &limited(work, limit))
    }
}

fn limited(work: Work, limit: Limit) -> Settings {
    Settings { latency_ms: work.latency_ms as f64, limit: Some(limit), ..Settings::default() }
}

/// The medians of one figure of scoregate and of the floor.
pub fn medians(pairs: &[Pair], figure: fn(&Measured) -> f64) -> (f64, f64) {
    (median(pairs.iter().map(|pair| figure(&pair.scoregate))), median(pairs.iter().map(|pair| figure(&pair.floor))))
}
