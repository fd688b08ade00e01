//! Where what a report names can be looked at. An address stands in Markdown as a link of ours, so it may hold nothing that Markdown reads.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::domain::Place;

/// What may stand in the path of a file as it is.
const PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// Characters of an address.
const LONGEST: usize = 1_000;

/// How a host shows a line of a file at one commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceLinks {
    /// Up to the file's path.
    pub before: String,
    /// Between path and line.
    pub between: String,
}

/// The links of one report; by default there are none.
#[derive(Clone, Debug, Default)]
pub struct Links {
    source: Option<SourceLinks>,
    /// Where the project's root lies in the repository: nothing, or a folder with its slash.
    folder: String,
    run: Option<String>,
}

impl Links {
    /// **Inputs**: `folder` is where the project's root lies in the repository, `run` the page of the job.
    pub fn new(source: Option<SourceLinks>, folder: &str, run: Option<&str>) -> Self {
        let run = run.filter(|run| is_plain(run)).map(str::to_owned);
        Self { source, folder: folder.to_owned(), run }
    }

    /// The page that shows the line.
    pub(crate) fn at(&self, place: &Place) -> Option<String> {
        let SourceLinks { before, between } = self.source.as_ref()?;
        let path = utf8_percent_encode(&format!("{}{}", self.folder, place.file), PATH).to_string();
        Some(format!("{before}{path}{between}{}", place.line)).filter(|address| is_plain(address))
    }

    /// The page of the job.
    pub(crate) fn run(&self) -> Option<&str> {
        self.run.as_deref()
    }
}

/// http(s), and no character that ends a link or a cell.
fn is_plain(address: &str) -> bool {
    let known = address.starts_with("https://") || address.starts_with("http://");
    let fine =
        |c: char| c.is_ascii_graphic() && !matches!(c, '(' | ')' | '<' | '>' | '|' | '`' | '\\' | '"' | '[' | ']');
    known && address.len() <= LONGEST && address.chars().all(fine)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links() -> Links {
        let source =
            SourceLinks { before: "https://h.test/o/r/blob/0123/".to_owned(), between: "?plain=1#L".to_owned() };
        Links::new(Some(source), "apps/a/", Some("https://h.test/run/7"))
    }

    #[test]
    fn a_file_s_name_cannot_leave_its_link() {
        let at = |file: &str| links().at(&Place { file: file.into(), line: 7 }).unwrap();
        assert_eq!(at("data/q.jsonl"), "https://h.test/o/r/blob/0123/apps/a/data/q.jsonl?plain=1#L7");
        let hostile = at("a) [x](http://evil.test) | `b`?#é.jsonl");
        assert!(is_plain(&hostile) && hostile.ends_with("%3F%23%C3%A9.jsonl?plain=1#L7"), "{hostile}");
    }

    #[test]
    fn an_address_that_is_none_is_no_link() {
        for run in ["javascript:alert(1)", "https://a/) x", "ftp://a", "https://a/\nb"] {
            assert_eq!(Links::new(None, "", Some(run)).run(), None, "{run}");
        }
        assert!(Links::default().at(&Place { file: "a".into(), line: 1 }).is_none());
    }
}
