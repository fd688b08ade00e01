//! Lines that fit a terminal, wide characters counted as two columns.

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

use crate::report::clean::Clean;
use crate::report::escape::terminal_line;

/// The text in lines of at most `width` columns; `first` and `next` begin the lines. Words longer than a line, and texts without
/// blanks, are broken between characters.
pub(super) fn wrapped(text: &Clean, first: &str, next: &str, width: usize) -> Vec<String> {
    let text = terminal_line(text);
    let room = width.saturating_sub(first.width().max(next.width())).max(10);
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    let mut used = 0;
    for word in text.as_str().split(' ').filter(|word| !word.is_empty()) {
        let mut wide = word.width();
        if used > 0 && used + 1 + wide > room && wide <= room {
            lines.push(std::mem::take(&mut line));
            used = 0;
        }
        if used > 0 {
            line.push(' ');
            used += 1;
        }
        if used + wide <= room {
            line.push_str(word);
            used += wide;
            continue;
        }
        for unit in word.graphemes(true) {
            wide = unit.width();
            if used + wide > room {
                lines.push(std::mem::take(&mut line).trim_end().to_owned());
                used = 0;
            }
            line.push_str(unit);
            used += wide;
        }
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(line);
    }
    lines.into_iter().enumerate().map(|(at, line)| format!("{}{line}", if at == 0 { first } else { next })).collect()
}

/// At most `lines` of it, marked where something is left out.
pub(super) fn excerpt(text: &Clean, first: &str, next: &str, width: usize, lines: usize) -> Vec<String> {
    let mut all = wrapped(text, first, next, width);
    if all.len() > lines {
        all.truncate(lines);
        if let Some(last) = all.last_mut() {
            while last.width() + 2 > width {
                let Some((at, _)) = last.grapheme_indices(true).next_back() else { break };
                last.truncate(at);
            }
            last.push_str(" …");
        }
    }
    all
}

/// The text cut to `width` columns.
pub(super) fn narrow(text: &Clean, width: usize) -> String {
    let line = terminal_line(text);
    if line.as_str().width() <= width {
        return line.as_str().to_owned();
    }
    let mut kept = String::new();
    let mut used = 0;
    for unit in line.as_str().graphemes(true) {
        if used + unit.width() + 1 > width {
            break;
        }
        used += unit.width();
        kept.push_str(unit);
    }
    kept.push('…');
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_wider_than_the_screen() {
        let texts = [
            "a few words and averyveryveryverylongword in between",
            "中文没有空格所以要在字之间断开换行才行",
            "",
            "👨‍👩‍👧 😀 x",
        ];
        for text in texts {
            for width in [14, 20, 33, 80] {
                let lines = wrapped(&Clean::ours(text), "* ", "  ", width);
                assert!(lines.iter().all(|line| line.width() <= width), "{lines:?}");
                let words: String = lines.iter().map(|line| line.get(2..).unwrap()).collect();
                assert_eq!(words.replace(' ', ""), text.replace(' ', ""));
                let short = excerpt(&Clean::ours(text), "* ", "  ", width, 2);
                assert!(short.len() <= 2 && short.iter().all(|line| line.width() <= width), "{short:?}");
            }
        }
        assert_eq!(narrow(&Clean::ours("中文中文中文"), 7), "中文中…");
    }
}
