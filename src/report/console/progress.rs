//! Live progress: a bar on a terminal, plain lines in a log (F39).
//!
//! Both say how much is done, at what rate, how long it will take, the calls in flight of those that may be, errors, retries, answers
//! from the ledger and cost; from ten seconds of silence on, lines name the cases that are waited for. A log never gets more than a thousand lines.

use std::io::Write;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle as BarStyle};

use super::pace::Pace;
use super::rate::Rate;
use crate::domain::{Event, EventSink, Measurement, Outcome, Redactor, SoFar, Usd};
use crate::report::clean::Cleaner;
use crate::report::escape::terminal_line;
use crate::text::number;

/// Lines of a whole run, progress and messages together.
const LINES: usize = 1_000;
const LINE: usize = 300;
/// Cases named while waiting.
const NAMED: usize = 5;

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgressStyle {
    /// A bar that moves, for a terminal.
    Bar,
    /// Lines, for a log.
    Lines,
}

/// Listens to a run and tells a person. Errors of the stream are ignored: they never stop a run.
pub struct Progress {
    clock: Box<dyn Fn() -> Duration + Send + Sync>,
    cleaner: Cleaner,
    state: Mutex<State>,
}

struct State {
    style: ProgressStyle,
    bar: Option<ProgressBar>,
    out: Box<dyn Write + Send>,
    pace: Pace,
    planned: u64,
    done: u64,
    errors: u64,
    so_far: SoFar,
    rate: Rate,
    lines: usize,
    retried: Option<Duration>,
    waited: Option<Duration>,
    ended: bool,
}

impl Progress {
    /// On standard error.
    pub fn stderr(style: ProgressStyle, redactor: Redactor) -> Self {
        let started = Instant::now();
        let bar = (style == ProgressStyle::Bar).then(bar);
        Self::new(style, redactor, Box::new(anstream::stderr()), Box::new(move || started.elapsed()), bar)
    }

    fn new(
        style: ProgressStyle,
        redactor: Redactor,
        out: Box<dyn Write + Send>,
        clock: Box<dyn Fn() -> Duration + Send + Sync>,
        bar: Option<ProgressBar>,
    ) -> Self {
        let state = State {
            style,
            bar,
            out,
            pace: Pace::new(),
            planned: 0,
            done: 0,
            errors: 0,
            so_far: SoFar::default(),
            rate: Rate::default(),
            lines: 0,
            retried: None,
            waited: None,
            ended: false,
        };
        Self { clock, cleaner: Cleaner::new(redactor), state: Mutex::new(state) }
    }

    fn handle(&self, state: &mut State, event: Event, now: Duration) {
        match event {
            Event::Started { outcomes_planned, cases, trials, targets, metrics } => {
                state.planned = outcomes_planned;
                if let Some(bar) = &state.bar {
                    bar.set_length(outcomes_planned);
                }
                let trials = if trials > 1 { format!(" × {trials} trials") } else { String::new() };
                let targets = if targets.len() > 1 { format!(" × {} targets", targets.len()) } else { String::new() };
                let cases = number::counted(cases, "case", "cases");
                let metrics = number::counted(metrics as u64, "metric", "metrics");
                if state.style == ProgressStyle::Lines {
                    state.line(&format!("measuring {cases}{trials}{targets}, {metrics}"));
                }
            }
            Event::Finished { outcome, done, so_far } => {
                (state.done, state.so_far) = (done, so_far);
                state.rate.see(now, done, so_far.calls.requests);
                state.count(&outcome);
                if state.style == ProgressStyle::Lines && state.pace.due(now, done, state.planned) {
                    let line = state.progress(now);
                    state.line(&line);
                }
                state.draw(now);
            }
            Event::Retried { endpoint, what, wait } => {
                let quiet = state.retried.is_some_and(|last| now.saturating_sub(last) < Duration::from_secs(10));
                if !quiet {
                    state.retried = Some(now);
                    let wait = number::duration(wait);
                    self.say(state, &format!("retrying {endpoint} in {wait}: {what}"));
                }
            }
            Event::EndpointStopped { endpoint, why } => {
                self.say(state, &format!("{endpoint} will be asked no more: {why}"));
            }
            Event::Waiting { silent, cases, so_far } => {
                state.so_far = so_far;
                state.draw(now);
                let quiet = state.waited.is_some_and(|last| now.saturating_sub(last) < Duration::from_secs(10));
                if !quiet {
                    state.waited = Some(now);
                    let names: Vec<&str> = cases.iter().take(NAMED).map(AsRef::as_ref).collect();
                    let more = cases.len().saturating_sub(NAMED);
                    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                    let silent = number::duration(silent);
                    let names = names.join(", ");
                    let calls = state.in_flight().map(|calls| format!(" ({calls})")).unwrap_or_default();
                    self.say(state, &format!("nothing finished for {silent}; waiting for {names}{more}{calls}"));
                }
            }
            Event::Cancelled { signal } => self.say(state, &format!("{signal}: no new calls; writing what is there")),
            Event::Note { text } => self.say(state, &text),
            Event::Ended => state.end(now),
        }
    }

    /// Texts from outside are cleaned here.
    fn say(&self, state: &mut State, text: &str) {
        let line = terminal_line(&self.cleaner.line(text, LINE));
        state.line(line.as_str());
    }
}

impl EventSink for Progress {
    fn emit(&self, event: Event) {
        let now = (self.clock)();
        // A panic elsewhere must not silence the rest of the run.
        let mut state = self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        self.handle(&mut state, event, now);
    }
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
    let form = "{bar:30.cyan/dim} {wide_msg}";
    if let Ok(style) = BarStyle::with_template(form) {
        bar.set_style(style.progress_chars("━╸─"));
    }
    bar.enable_steady_tick(Duration::from_millis(250));
    bar
}

/// `3.5 answers a second`, `0.8 calls a minute`
fn speed(each_second: f64, what: &str) -> String {
    if each_second >= 1.0 {
        format!("{each_second:.1} {what} a second")
    } else {
        format!("{:.1} {what} a minute", each_second * 60.0)
    }
}

impl State {
    fn count(&mut self, outcome: &Outcome) {
        let lost = |measurement: &Measurement| matches!(measurement, Measurement::Error(_) | Measurement::Unusable(_));
        let failed = outcome.answer.is_err() || outcome.scores.iter().any(|score| lost(&score.measurement));
        self.errors += u64::from(failed);
    }

    /// Brings the bar up to date; its words are those of the lines.
    fn draw(&self, now: Duration) {
        if let Some(bar) = &self.bar {
            bar.set_position(self.done);
            bar.set_message(self.progress(now));
        }
    }

    /// `7 of 16 calls in flight`; `None` before anybody is called.
    fn in_flight(&self) -> Option<String> {
        let limits = self.so_far.limits;
        let (now, most) = (number::count(limits.in_flight as u64), number::count(limits.limit as u64));
        (limits.limit > 0).then(|| format!("{now} of {most} calls in flight"))
    }

    /// `2 errors, 3 retries, $0.12`; empty where all is well.
    fn counts(&self) -> String {
        let mut parts = Vec::new();
        if self.errors > 0 {
            parts.push(number::counted(self.errors, "error", "errors"));
        }
        let SoFar { calls, cost, .. } = self.so_far;
        if calls.retries > 0 {
            parts.push(number::counted(calls.retries, "retry", "retries"));
        }
        if calls.cache_hits > 0 {
            parts.push(format!("{} from the ledger", number::count(calls.cache_hits)));
        }
        parts.extend(cost.filter(|Usd(spent)| *spent > 0.0).map(|Usd(dollars)| number::money(dollars)));
        parts.join(", ")
    }

    /// `70/140 (50%), 3.5 answers a second, about 20.0 s left, 7 of 16 calls in flight (3.6 calls a second), 2 errors`
    fn progress(&self, now: Duration) -> String {
        let mut line = format!(
            "{}/{} ({})",
            number::count(self.done),
            number::count(self.planned),
            number::rate(self.done, self.planned)
        );
        let pace = self.rate.at(now);
        if pace.outcomes > 0.0 {
            line.push_str(&format!(", {}", speed(pace.outcomes, "answers")));
            let left = self.planned.saturating_sub(self.done) as f64 / pace.outcomes;
            if let (true, Ok(left)) = (self.done < self.planned, Duration::try_from_secs_f64(left)) {
                line.push_str(&format!(", about {} left", number::duration(left)));
            }
        }
        if let Some(calls) = self.in_flight() {
            line.push_str(&format!(", {calls}"));
            if pace.calls > 0.0 {
                line.push_str(&format!(" ({})", speed(pace.calls, "calls")));
            }
        }
        let counts = self.counts();
        if !counts.is_empty() {
            line.push_str(&format!(", {counts}"));
        }
        line
    }

    fn end(&mut self, now: Duration) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
        if self.style == ProgressStyle::Lines && self.planned > 0 {
            let counts = self.counts();
            let counts = if counts.is_empty() { String::new() } else { format!(", {counts}") };
            let (done, planned) = (number::count(self.done), number::count(self.planned));
            // The last line is always written, and always room for it left.
            self.write(&format!("measured {done} of {planned} in {}{counts}", number::duration(now)));
        }
    }

    fn line(&mut self, line: &str) {
        if self.lines + 3 > LINES {
            return;
        }
        self.write(line);
        if self.lines + 3 > LINES {
            self.write("… further lines are left out; the reports hold everything");
        }
    }

    fn write(&mut self, line: &str) {
        self.lines += 1;
        let out = &mut self.out;
        let mut write = || {
            // A closed stream is nobody's loss.
            let _ = writeln!(out, "{line}").and_then(|()| out.flush());
        };
        match &self.bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }
}

#[cfg(test)]
mod tests;
