//! A document that stays below a limit: whole parts only, and a word about what was left out.
//!
//! Bytes are counted: neither characters nor UTF-16 units are ever more.

/// Text of at most `limit` bytes.
pub(super) struct Budget {
    text: String,
    limit: usize,
}

impl Budget {
    pub(super) fn new(limit: usize) -> Self {
        Self { text: String::new(), limit }
    }

    pub(super) fn left(&self) -> usize {
        self.limit.saturating_sub(self.text.len())
    }

    /// Takes `part` whole or not at all.
    pub(super) fn add(&mut self, part: &str) -> bool {
        let fits = part.len() <= self.left();
        if fits {
            self.text.push_str(part);
        }
        fits
    }

    /// `open`, the parts that fit into `share` bytes, a word about the others (`more` of them are not even among `parts`), `close`.
    /// Nothing at all where not one part fits, but for the word.
    pub(super) fn section(&mut self, open: &str, parts: &[String], close: &str, more: usize, what: &str, share: usize) {
        let total = parts.len() + more;
        if total == 0 {
            return;
        }
        let word = |left: usize| format!("\n_{left} more {what} in the full report._\n");
        let frame = open.len() + close.len() + word(total).len();
        let mut room = share.min(self.left()).saturating_sub(frame);
        let mut taken = Vec::new();
        for part in parts {
            if part.len() > room {
                break;
            }
            room -= part.len();
            taken.push(part.as_str());
        }
        let left = total - taken.len();
        if taken.is_empty() {
            self.add(&word(left));
            return;
        }
        let rest = if left > 0 { word(left) } else { String::new() };
        self.add(&format!("{open}{}{rest}{close}", taken.concat()));
    }

    /// Takes a part whose room was kept when the limit was set.
    pub(super) fn add_kept(&mut self, part: &str) {
        self.limit += part.len();
        self.text.push_str(part);
    }

    pub(super) fn finish(self) -> String {
        self.text
    }
}
