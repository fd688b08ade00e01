//! The work: recorded cases, the same on every machine.

use std::fmt::Write as _;
use std::path::Path;

use crate::Error;
use crate::provider::random::mix;

const WORDS: &str = "the river station measures flow every hour and reports it to the council while engineers compare levels with \
                     last year data from seven stations along its course water temperature oxygen depth rain season bridge valley \
                     north south report table figure shows average rise fall limit warning people town farm field source context \
                     answer cites policy refund order customer invoice contract days";

/// Words that depend on nothing but a seed.
struct Text {
    words: Vec<&'static str>,
    state: u64,
}

impl Text {
    fn next(&mut self, count: usize) -> String {
        let mut text = String::with_capacity(count * 7);
        for at in 0..count {
            self.state = mix(self.state, 1);
            let place = usize::try_from(self.state % self.words.len() as u64).unwrap_or(0);
            if at > 0 {
                text.push(' ');
            }
            text.push_str(self.words.get(place).copied().unwrap_or_default());
        }
        text
    }
}

/// Writes `count` cases as JSON lines of about 1.6 kB: a query of 12 words, three contexts of 60, an answer of 40.
///
/// # Errors
/// Where the file cannot be written.
pub fn write(path: &Path, count: usize) -> Result<(), Error> {
    let mut text = Text { words: WORDS.split_whitespace().collect(), state: 7 };
    let mut lines = String::with_capacity(count * 1700);
    for at in 0..count {
        let query = text.next(10);
        let contexts = [text.next(60), text.next(60), text.next(60)].join(".\",\"");
        let response = text.next(38);
        writeln!(
            lines,
            "{{\"id\":\"c{at:05}\",\"query\":\"Question {at}: {query}?\",\"contexts\":[\"{contexts}.\"],\
             \"response\":\"Answer {at}: {response}.\"}}"
        )?;
    }
    Ok(std::fs::write(path, lines)?)
}
