//! "Did you mean …?": the known word that a misspelt one is closest to.

/// The candidate that `word` most likely stands for; `None` where nothing is close enough to be named.
///
/// **Inputs**: letter case and the difference between `-`, `_` and a space are ignored.
/// **Returns**: the nearest candidate with at most one slip (swapped, missing, extra or wrong letter) per three letters, or one that
/// `word` continues or abbreviates (`similarity`, `similar`). The first candidate wins a tie, so the answer does not depend on luck.
/// **Source**: Damerau–Levenshtein distance, as `strsim::damerau_levenshtein` computes it.
pub fn closest<'a, I>(word: &str, candidates: I) -> Option<&'a str>
where
    I: IntoIterator<Item = &'a str>,
{
    let word = plain(word);
    let mut best: Option<(usize, &'a str)> = None;
    for candidate in candidates {
        let Some(distance) = distance(&word, &plain(candidate)) else { continue };
        if best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// "did you mean `x`?", as a help text.
pub fn did_you_mean<'a, I>(word: &str, candidates: I) -> Option<String>
where
    I: IntoIterator<Item = &'a str>,
{
    closest(word, candidates).map(|found| format!("did you mean `{found}`?"))
}

/// The words as a person lists them: "`a`, `b` or `c`".
pub fn list<'a, I>(words: I, joiner: &str) -> String
where
    I: IntoIterator<Item = &'a str>,
{
    let quoted: Vec<String> = words.into_iter().map(|word| format!("`{word}`")).collect();
    match quoted.split_last() {
        None => String::new(),
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} {joiner} {last}", rest.join(", ")),
    }
}

fn plain(word: &str) -> String {
    word.chars()
        .map(|letter| if matches!(letter, '-' | ' ') { '_' } else { letter })
        .flat_map(char::to_lowercase)
        .collect()
}

fn distance(word: &str, candidate: &str) -> Option<usize> {
    let length = word.chars().count().max(candidate.chars().count());
    let allowed = (length / 3).max(1);
    let distance = strsim::damerau_levenshtein(word, candidate);
    // One slip in a word of one or two letters would make anything similar to anything.
    if distance <= allowed && (distance == 0 || length > 2) {
        return Some(distance);
    }
    let shared = word.starts_with(candidate) || candidate.starts_with(word);
    (shared && word.len().min(candidate.len()) >= 4).then_some(allowed.saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_every_kind_find_their_word() {
        let known = ["threshold", "similar", "dataset", "tests", "max_elapsed"];
        assert_eq!(closest("treshold", known), Some("threshold"));
        assert_eq!(closest("threshhold", known), Some("threshold"));
        assert_eq!(closest("similarity", known), Some("similar"));
        assert_eq!(closest("datasets", known), Some("dataset"));
        assert_eq!(closest("Tests", known), Some("tests"));
        assert_eq!(closest("max-elapsed", known), Some("max_elapsed"));
    }

    #[test]
    fn nothing_close_is_not_guessed() {
        assert_eq!(closest("banana", ["threshold", "dataset"]), None);
        assert_eq!(closest("a", ["b", "n"]), None);
        assert_eq!(closest("x", []), None);
    }

    #[test]
    fn lists_read_like_a_sentence() {
        assert_eq!(list(["a"], "or"), "`a`");
        assert_eq!(list(["a", "b", "c"], "or"), "`a`, `b` or `c`");
        assert_eq!(list([], "or"), "");
    }
}
