//! Drops what a reply holds beside what is said to us.

use super::{Unusable, Why};
use crate::text::normalize::strip_invisible;

/// Names of the blocks in which models think aloud.
const THINKING: [&str; 4] = ["think", "thinking", "thought", "reasoning"];

/// The reply without invisible characters, thinking and fence lines.
///
/// # Errors
/// `Empty` where nothing is left, `Truncated` where a thinking block never ends.
pub(super) fn clean(reply: &str) -> Result<String, Unusable> {
    let text = strip_invisible(reply).replace("\r\n", "\n").replace('\r', "\n");
    let text = after_stray_ends(&without_thinking(&text)?).to_owned();
    let lines: Vec<&str> = text.lines().filter(|line| !is_fence(line)).collect();
    let text = lines.join("\n");
    if text.trim().is_empty() {
        return Err(Unusable::new(Why::Empty, ""));
    }
    Ok(text)
}

/// Blocks that begin at the start of a line: a tag within a line belongs to the text (a JSON string has no line breaks).
fn without_thinking(text: &str) -> Result<String, Unusable> {
    // Lower case of ASCII letters only keeps every byte in its place.
    let lower = text.to_ascii_lowercase();
    let mut kept = String::new();
    let mut from = 0;
    while let Some((start, name)) = next_block(&lower, from) {
        let end_tag = format!("</{name}>");
        let Some(length) = lower.get(start..).and_then(|rest| rest.find(&end_tag)) else {
            return Err(Unusable::new(Why::Truncated, format!("the block <{name}> never ends")));
        };
        kept.push_str(text.get(from..start).unwrap_or_default());
        kept.push('\n');
        from = start + length + end_tag.len();
    }
    kept.push_str(text.get(from..).unwrap_or_default());
    Ok(kept)
}

/// Place and name of the next opening tag at the start of a line, from `from` on.
fn next_block(lower: &str, from: usize) -> Option<(usize, &'static str)> {
    let mut line_start = from;
    for line in lower.get(from..)?.split_inclusive('\n') {
        let indent = line.len() - line.trim_start().len();
        let begins = |name: &&str| {
            line.get(indent..)
                .and_then(|text| text.strip_prefix('<'))
                .and_then(|text| text.strip_prefix(*name))
                .is_some_and(|text| text.starts_with('>'))
        };
        if let Some(name) = THINKING.into_iter().find(begins) {
            return Some((line_start + indent, name));
        }
        line_start += line.len();
    }
    None
}

/// What follows the last closing tag that begins or ends a line: some servers send the end of a block without its beginning.
fn after_stray_ends(text: &str) -> &str {
    let lower = text.to_ascii_lowercase();
    let mut cut = 0;
    for name in THINKING {
        let tag = format!("</{name}>");
        for (start, _) in lower.match_indices(&tag) {
            let end = start + tag.len();
            let begins = lower.get(..start).is_some_and(|before| before.trim_end_matches([' ', '\t']).ends_with('\n'));
            let ends = lower.get(end..).is_some_and(|after| after.trim_start_matches([' ', '\t']).starts_with('\n'));
            if begins || ends || start == 0 {
                cut = cut.max(end);
            }
        }
    }
    text.get(cut..).unwrap_or_default()
}

/// A line that only opens or closes a code block.
fn is_fence(line: &str) -> bool {
    let line = line.trim();
    ["```", "~~~"].iter().any(|fence| {
        line.strip_prefix(fence).is_some_and(|rest| {
            let info = rest.trim_start_matches(['`', '~']).trim();
            info.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '+' | '.'))
        })
    })
}

/// Openings that leave no doubt.
const REFUSALS: [&str; 17] = [
    "i'm sorry",
    "i am sorry",
    "sorry,",
    "sorry.",
    "i apologize",
    "i apologise",
    "my apologies",
    "i'm unable",
    "i am unable",
    "i'm not able",
    "i am not able",
    "i must decline",
    "as an ai",
    "抱歉",
    "很抱歉",
    "对不起",
    "我无法",
];

/// Openings that refuse only together with what is refused ("I cannot find support" is a judgement).
const CANNOT: [&str; 5] = ["i can't", "i cannot", "i can not", "i won't", "i will not"];
const REFUSED: [&str; 9] = ["help", "assist", "rate", "rating", "evaluat", "comply", "judge", "grade", "provide"];

/// Whether a reply without a verdict is a refusal.
pub(super) fn declines(text: &str) -> bool {
    let head: String = text.trim_start().chars().take(160).collect();
    let head = head.to_lowercase().replace('\u{2019}', "'");
    REFUSALS.iter().any(|opening| head.starts_with(opening))
        || CANNOT.iter().any(|opening| {
            head.strip_prefix(opening).is_some_and(|rest| REFUSED.iter().any(|word| rest.contains(word)))
        })
}
