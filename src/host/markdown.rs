//! A safety net: `report` cuts by meaning; what is too long all the same is cut here without leaving anything open.

/// The longest start of `text` within `limit` bytes that ends at a blank line outside every fence and folded section;
/// `None`: it fits.
pub(super) fn cut(text: &str, limit: usize) -> Option<&str> {
    if text.len() <= limit {
        return None;
    }
    let mut end = 0usize;
    let mut offset = 0usize;
    let mut folds = 0usize;
    let mut fence: Option<&str> = None;
    for line in text.split_inclusive('\n') {
        offset = offset.saturating_add(line.len());
        if offset > limit {
            break;
        }
        let bare = line.trim();
        match fence {
            Some(open) if bare.starts_with(open) => fence = None,
            Some(_) => {}
            None => {
                fence = ["```", "~~~"].into_iter().find(|mark| bare.starts_with(mark));
                folds = folds.saturating_add(line.matches("<details").count());
                folds = folds.saturating_sub(line.matches("</details>").count());
            }
        }
        if bare.is_empty() && folds == 0 && fence.is_none() {
            end = offset;
        }
    }
    Some(text.get(..end).unwrap_or_default().trim_end())
}

#[cfg(test)]
mod tests {
    use super::cut;

    #[test]
    fn what_fits_is_left_alone() {
        assert_eq!(cut("short\n", 6), None);
    }

    #[test]
    fn a_cut_leaves_no_section_fence_or_table_open() {
        let text = "head\n\n| a |\n|---|\n| 1 |\n\n<details>\n\n```\n\n</details>\n```\n\n</details>\n\nend\n\nmore\n";
        for limit in 0..text.len() {
            let start = cut(text, limit).unwrap();
            assert!(start.len() <= limit);
            assert!(
                ["", "head", "head\n\n| a |\n|---|\n| 1 |"].contains(&start)
                    || start.ends_with("</details>")
                    || start.ends_with("end"),
                "{start:?}"
            );
        }
    }
}
