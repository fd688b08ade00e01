//! Words of scripts without spaces.

use std::sync::LazyLock;

use icu_segmenter::options::WordBreakInvariantOptions;
use icu_segmenter::{WordSegmenter, WordSegmenterBorrowed};

static SEGMENTER: LazyLock<WordSegmenterBorrowed<'static>> =
    LazyLock::new(|| WordSegmenter::new_dictionary(WordBreakInvariantOptions::default()));

/// Hands on the words of a run of Chinese, Japanese or Korean characters, in their order.
///
/// **Source**: Unicode Standard Annex 29 with the dictionary of ICU 4X, which is ICU's (`cjdict`).
pub(super) fn each<'t>(run: &'t str, word: &mut dyn FnMut(&'t str)) {
    let mut from = 0;
    for to in SEGMENTER.segment_str(run) {
        if let Some(found) = run.get(from..to).filter(|found| !found.is_empty()) {
            word(found);
        }
        from = to;
    }
}
