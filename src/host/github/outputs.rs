//! The step's outputs, appended to the file at `GITHUB_OUTPUT`: numbers, fixed words, our own paths and the comment's address.
//!
//! Format: docs.github.com, "Workflow commands", setting an output parameter and multiline strings.

use std::fs::OpenOptions;
use std::hash::{BuildHasher, RandomState};
use std::io::Write;
use std::path::Path;

use crate::domain::Decision;
use crate::host::{Outputs, Warning};

/// The names, as `action.yml` declares them.
pub const OUTPUT_NAMES: [&str; 7] =
    ["verdict", "passed", "exit-code", "regressions", "junit-path", "summary-path", "comment-url"];

/// # Errors
/// A warning where the file cannot be written.
pub(super) fn write(file: &Path, outputs: &Outputs, comment_url: Option<&str>) -> Result<(), Warning> {
    let text = render(outputs, comment_url, delimiter);
    OpenOptions::new().create(true).append(true).open(file).and_then(|mut out| out.write_all(text.as_bytes())).map_err(
        |error| {
            Warning::new(format!("the step's outputs could not be written to {}: {error}", file.display()))
                .with_help("Steps that read them find nothing; the exit code says the same.")
        },
    )
}

/// `passed` is true for a passed verdict only: an inconclusive one may let the job go on, but it is no pass.
fn render(outputs: &Outputs, comment_url: Option<&str>, delimiter: impl Fn() -> String) -> String {
    let passed = outputs.verdict == Decision::Passed && outputs.exit_code == 0;
    let path =
        |path: &Option<std::path::PathBuf>| path.as_deref().and_then(Path::to_str).unwrap_or_default().to_owned();
    let values = [
        outputs.verdict.word().to_owned(),
        passed.to_string(),
        outputs.exit_code.to_string(),
        outputs.regressions.to_string(),
        path(&outputs.junit_path),
        path(&outputs.summary_path),
        comment_url.filter(|url| is_address(url)).unwrap_or_default().to_owned(),
    ];
    OUTPUT_NAMES.iter().zip(values).map(|(name, value)| entry(name, &value, &delimiter)).collect()
}

fn entry(name: &str, value: &str, delimiter: impl Fn() -> String) -> String {
    if value.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return format!("{name}={value}\n");
    }
    let mut end = delimiter();
    while value.contains(&end) {
        end = delimiter();
    }
    format!("{name}<<{end}\n{value}\n{end}\n")
}

fn is_address(url: &str) -> bool {
    let known = url.starts_with("https://") || url.starts_with("http://");
    known && url.len() <= 2_000 && url.chars().all(|c| c.is_ascii_graphic())
}

/// Not to be guessed by whoever wrote the value: the standard library seeds its hash states from the system.
fn delimiter() -> String {
    let word = || RandomState::new().hash_one(0u8);
    format!("scoregate_{:016x}{:016x}", word(), word())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outputs() -> Outputs {
        Outputs {
            verdict: Decision::Inconclusive,
            exit_code: 0,
            regressions: 2,
            junit_path: Some("out dir/junit.xml".into()),
            summary_path: None,
        }
    }

    #[test]
    fn an_inconclusive_verdict_is_not_passed_even_if_the_job_goes_on() {
        let text = render(&outputs(), None, || "END".to_owned());
        assert!(text.starts_with("verdict=inconclusive\npassed=false\nexit-code=0\nregressions=2\n"), "{text}");
    }

    #[test]
    fn a_value_cannot_end_its_own_heredoc() {
        let hostile = Outputs { junit_path: Some("a\nEND1\nverdict=passed".into()), ..outputs() };
        let used = std::cell::Cell::new(0);
        let next = || {
            used.set(used.get() + 1);
            format!("END{}", used.get())
        };
        let text = render(&hostile, None, next);
        assert!(text.contains("junit-path<<END2\na\nEND1\nverdict=passed\nEND2\n"), "{text}");
    }

    #[test]
    fn delimiters_differ() {
        assert_ne!(delimiter(), delimiter());
    }

    #[test]
    fn only_addresses_become_the_comment_url() {
        for hostile in ["javascript:alert(1)", "https://a/\nverdict=passed", "https://a/ b"] {
            assert!(render(&outputs(), Some(hostile), || "END".to_owned()).ends_with("comment-url=\n"));
        }
    }
}
