//! R7: a provider's limits are kept to, and everything is measured under them.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use super::{rows, share, sized};
use crate::command::{checked, command, folder, outcomes};
use crate::raw_server::{Step, json};
use crate::scripted_server::ScriptedServer;

/// What the server allows.
const AT_ONCE: usize = 25;
const PER_SECOND: f64 = 50.0;
/// It lets this many through at once after a pause.
const BURST: f64 = 10.0;

/// How a refusal names the moment to come back.
#[derive(Clone, Copy, Debug)]
enum Naming {
    Seconds,
    Date,
}

struct Books {
    level: f64,
    filled: Instant,
    arrivals: Vec<Instant>,
    /// When a refusal was sent, and the moment it named.
    refusals: Vec<(Instant, Instant)>,
}

impl Books {
    /// A request came; how long to stay away where it is one too many.
    fn admit(&mut self, at: Instant, in_progress: usize, naming: Naming) -> Option<Duration> {
        self.arrivals.push(at);
        let past = at.saturating_duration_since(self.filled).as_secs_f64();
        (self.level, self.filled) = ((self.level + past * PER_SECOND).min(BURST), at.max(self.filled));
        if in_progress <= AT_ONCE && self.level >= 1.0 {
            self.level -= 1.0;
            return None;
        }
        // A date has whole seconds: what is left of this one is not waited for.
        let wait = match naming {
            Naming::Seconds => Duration::from_secs(1),
            Naming::Date => Duration::from_secs(2),
        };
        let now = Instant::now();
        self.refusals.push((now, now + wait));
        Some(wait)
    }

    /// Requests between a refusal, with `grace` for those on their way, and 50 ms before the moment that it named.
    fn early(&self, grace: impl Fn(Duration) -> Duration) -> usize {
        let within = |at: &&Instant| {
            self.refusals
                .iter()
                .any(|(sent, until)| **at > *sent + grace(*until - *sent) && **at + Duration::from_millis(50) < *until)
        };
        self.arrivals.iter().filter(within).count()
    }

    /// Of the requests in the half second after all waits ended, the largest share in 10 ms, over all such moments.
    fn bunched(&self) -> (usize, f64) {
        let mut buckets = [0_usize; 50];
        let mut ends: Vec<Instant> = self.refusals.iter().map(|(_, until)| *until).collect();
        ends.sort();
        // Of refusals that follow each other closely, the last counts.
        let last = |pair: &[Instant]| pair[1] - pair[0] > Duration::from_millis(500);
        let mut moments: Vec<Instant> = ends.windows(2).filter(|pair| last(pair)).map(|pair| pair[0]).collect();
        moments.extend(ends.last());
        for moment in moments {
            for at in &self.arrivals {
                if let Some(past) = at.checked_duration_since(moment)
                    && let Some(bucket) = buckets.get_mut(past.as_millis() as usize / 10)
                {
                    *bucket += 1;
                }
            }
        }
        let all: usize = buckets.iter().sum();
        (all, share(buckets.into_iter().max().unwrap_or_default(), all))
    }
}

fn refusal(naming: Naming, wait: Duration) -> Vec<u8> {
    let now = SystemTime::now();
    let named = match naming {
        Naming::Seconds => wait.as_secs().to_string(),
        Naming::Date => httpdate::fmt_http_date(now + wait),
    };
    let date = httpdate::fmt_http_date(now);
    format!("HTTP/1.1 429 Too Many Requests\r\nDate: {date}\r\nRetry-After: {named}\r\nContent-Length: 0\r\n\r\n")
        .into_bytes()
}

fn kept_to(naming: Naming, cases: usize) {
    let now = Instant::now();
    let books = Books { level: BURST, filled: now, arrivals: Vec::new(), refusals: Vec::new() };
    let books = Arc::new(Mutex::new(books));
    let noted = Arc::clone(&books);
    let server = ScriptedServer::start(move |asked| {
        let refused = noted.lock().expect("the books").admit(asked.at, asked.in_progress, naming);
        match refused {
            Some(wait) => vec![Step::Send(refusal(naming, wait))],
            None => vec![Step::Pause(Duration::from_millis(100)), Step::Send(json("200 OK", "{\"answer\":\"fine\"}"))],
        }
    });
    let url = server.url("/q");
    let suite = format!(
        "version: 1\nname: limits\ndataset: {{ path: data.jsonl }}\ntargets:\n  app:\n    http: {{ url: \"{url}\", body: {{ q: \"{{{{ input }}}}\" }}, answer: $.answer }}\nevaluators:\n  length: {{ min: 1 }}\ngate: {{ min_measured: 1 }}\nrun: {{ workers: 64, retry: {{ max_elapsed: 30m }} }}\n"
    );
    let place = folder(&[("scoregate.yaml", &suite), ("data.jsonl", &rows(0..cases))]);
    let begun = Instant::now();
    checked(&command(place.path(), &["run"]).output().expect("a run"), 0);
    let took = begun.elapsed().as_secs_f64();
    let answered = outcomes(place.path()).iter().filter(|line| line["answer"]["text"] == "fine").count();
    let books = books.lock().expect("the books");
    let refused = share(books.refusals.len(), books.arrivals.len());
    let (woken, bunched) = books.bunched();
    let (early, closely) = (books.early(|wait| wait / 2), books.early(|_| Duration::from_millis(50)));
    let ideal = (cases as f64 - BURST) / PER_SECOND;
    println!(
        "R7 {naming:?}: {answered} of {cases} answered, {early} too early ({closely} from 50 ms on), {refused:.1} % refused, \
         {woken} woken with {bunched:.0} % in the fullest 10 ms, {:.2} of the ideal time",
        took / ideal
    );
    assert_eq!(answered, cases);
    assert!(!books.refusals.is_empty(), "the limit was never met");
    assert_eq!(if super::full() { closely } else { early }, 0);
    assert!(refused <= 25.0, "{refused} %");
    // A moment that all wait for is no moment at which all come.
    assert!(woken > 0, "nobody waited");
    assert!(bunched <= sized(25.0, 10.0), "{bunched} %");
}

#[test]
fn a_limit_told_in_seconds_is_kept_to() {
    kept_to(Naming::Seconds, sized(120, 5_000));
}

#[test]
fn a_limit_told_as_a_date_is_kept_to() {
    kept_to(Naming::Date, sized(120, 5_000));
}
