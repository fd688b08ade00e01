//! English words without their endings.

use std::borrow::Cow;

/// Irregular words and their stems.
const IRREGULAR: [(&str, &str); 16] = [
    ("sky", "sky"),
    ("skies", "sky"),
    ("dying", "die"),
    ("lying", "lie"),
    ("tying", "tie"),
    ("news", "news"),
    ("innings", "inning"),
    ("inning", "inning"),
    ("outings", "outing"),
    ("outing", "outing"),
    ("cannings", "canning"),
    ("canning", "canning"),
    ("howe", "howe"),
    ("proceed", "proceed"),
    ("exceed", "exceed"),
    ("succeed", "succeed"),
];

/// Ending, and what stands in its place where the rest has a measure above 0.
const STEP_2: [(&str, &str); 21] = [
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("bli", "ble"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
    ("fulli", "ful"),
];

const STEP_3: [(&str, &str); 7] =
    [("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", "")];

/// Endings that go where the rest has a measure above 1.
const STEP_4: [&str; 19] = [
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate", "iti",
    "ous", "ive", "ize",
];

/// The stem of a lower-case word of ASCII letters and digits.
///
/// **Source**: M. F. Porter, *An algorithm for suffix stripping*, Program 14.3, 1980, with the changes of NLTK's `PorterStemmer`
/// (its default mode), which `rouge-score` uses.
pub fn stem(word: &str) -> Cow<'_, str> {
    if let Some((_, stem)) = IRREGULAR.iter().find(|(form, _)| *form == word) {
        return Cow::Borrowed(stem);
    }
    if word.len() <= 2 || !word.is_ascii() {
        return Cow::Borrowed(word);
    }
    let mut stem = Stem(word.as_bytes().to_vec());
    stem.plurals();
    stem.past_and_ing();
    stem.final_y();
    stem.step_2();
    stem.step_3();
    stem.step_4();
    stem.final_e();
    match String::from_utf8(stem.0) {
        Ok(stem) if stem == word => Cow::Borrowed(word),
        Ok(stem) => Cow::Owned(stem),
        // Cannot be: ASCII letters were cut off and put on.
        Err(_) => Cow::Borrowed(word),
    }
}

/// A word that loses its endings.
struct Stem(Vec<u8>);

impl Stem {
    /// The rest before `ending`, if the word ends so.
    fn before(&self, ending: &str) -> Option<&[u8]> {
        self.0.strip_suffix(ending.as_bytes())
    }

    fn ends(&self, ending: &str) -> bool {
        self.0.ends_with(ending.as_bytes())
    }

    /// Cuts off `cut` bytes and puts `put` on.
    fn replace(&mut self, cut: usize, put: &str) {
        self.0.truncate(self.0.len().saturating_sub(cut));
        self.0.extend_from_slice(put.as_bytes());
    }

    /// The first ending of the list that the word has decides.
    fn first_of(&mut self, rules: &[(&str, &str)]) {
        let Some((ending, put)) = rules.iter().find(|(ending, _)| self.ends(ending)) else { return };
        if self.before(ending).is_some_and(|rest| measure(rest) > 0) {
            self.replace(ending.len(), put);
        }
    }

    /// Step 1a.
    fn plurals(&mut self) {
        if self.ends("ies") {
            let keep = if self.0.len() == 4 { 1 } else { 2 };
            self.replace(keep, "");
        } else if self.ends("sses") {
            self.replace(2, "");
        } else if self.ends("s") && !self.ends("ss") {
            self.replace(1, "");
        }
    }

    /// Step 1b.
    fn past_and_ing(&mut self) {
        if self.ends("ied") {
            let keep = if self.0.len() == 4 { 1 } else { 2 };
            self.replace(keep, "");
            return;
        }
        if let Some(rest) = self.before("eed") {
            if measure(rest) > 0 {
                self.replace(1, "");
            }
            return;
        }
        let cut = ["ed", "ing"].into_iter().find(|ending| self.before(ending).is_some_and(has_vowel));
        let Some(cut) = cut else { return };
        self.replace(cut.len(), "");
        if self.ends("at") || self.ends("bl") || self.ends("iz") {
            self.replace(0, "e");
        } else if ends_double(&self.0) {
            if !matches!(self.0.last(), Some(b'l' | b's' | b'z')) {
                self.replace(1, "");
            }
        } else if measure(&self.0) == 1 && ends_cvc(&self.0) {
            self.replace(0, "e");
        }
    }

    /// Step 1c.
    fn final_y(&mut self) {
        if self.before("y").is_some_and(|rest| rest.len() > 1 && ends_in_consonant(rest)) {
            self.replace(1, "i");
        }
    }

    fn step_2(&mut self) {
        if self.before("alli").is_some_and(|rest| measure(rest) > 0) {
            self.replace(2, "");
            return self.step_2();
        }
        if STEP_2.iter().any(|(ending, _)| self.ends(ending)) {
            self.first_of(&STEP_2);
        } else if self.ends("logi") && self.measure_before(3) > 0 {
            self.replace(1, "");
        }
    }

    /// The measure of all but the last `cut` letters.
    fn measure_before(&self, cut: usize) -> usize {
        self.0.get(..self.0.len().saturating_sub(cut)).map_or(0, measure)
    }

    fn step_3(&mut self) {
        self.first_of(&STEP_3);
    }

    fn step_4(&mut self) {
        let Some(ending) = STEP_4.iter().find(|ending| self.ends(ending)) else { return };
        let Some(rest) = self.before(ending) else { return };
        let fits = *ending != "ion" || matches!(rest.last(), Some(b's' | b't'));
        if fits && measure(rest) > 1 {
            self.replace(ending.len(), "");
        }
    }

    /// Steps 5a and 5b.
    fn final_e(&mut self) {
        if let Some(rest) = self.before("e") {
            let measure = measure(rest);
            if measure > 1 || (measure == 1 && !ends_cvc(rest)) {
                self.replace(1, "");
            }
        }
        if self.ends("ll") && self.measure_before(1) > 1 {
            self.replace(1, "");
        }
    }
}

/// Letter by letter: is it a consonant? A `y` is one where it begins the word or follows a vowel.
fn consonants(word: &[u8]) -> impl Iterator<Item = bool> + '_ {
    let mut last = false;
    word.iter().enumerate().map(move |(at, letter)| {
        last = match letter {
            b'a' | b'e' | b'i' | b'o' | b'u' => false,
            b'y' => at == 0 || !last,
            _ => true,
        };
        last
    })
}

/// How often a consonant follows a vowel.
fn measure(word: &[u8]) -> usize {
    let mut after_vowel = false;
    let mut count = 0;
    for consonant in consonants(word) {
        count += usize::from(after_vowel && consonant);
        after_vowel = !consonant;
    }
    count
}

fn has_vowel(word: &[u8]) -> bool {
    consonants(word).any(|consonant| !consonant)
}

fn ends_in_consonant(word: &[u8]) -> bool {
    consonants(word).last().unwrap_or(false)
}

fn ends_double(word: &[u8]) -> bool {
    match word {
        [.., before, last] => before == last && ends_in_consonant(word),
        _ => false,
    }
}

/// Consonant, vowel, consonant that is none of w, x, y; or a word of a vowel and a consonant.
fn ends_cvc(word: &[u8]) -> bool {
    let mut tail = [false; 3];
    for consonant in consonants(word) {
        tail = [tail[1], tail[2], consonant];
    }
    match word.len() {
        0 | 1 => false,
        2 => !tail[1] && tail[2],
        _ => tail == [true, false, true] && !matches!(word.last(), Some(b'w' | b'x' | b'y')),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_paper() {
        let examples = [
            ("caresses", "caress"),
            ("ponies", "poni"),
            ("cats", "cat"),
            ("agreed", "agre"),
            ("feed", "feed"),
            ("plastered", "plaster"),
            ("bled", "bled"),
            ("motoring", "motor"),
            ("sing", "sing"),
            ("conflated", "conflat"),
            ("hopping", "hop"),
            ("falling", "fall"),
            ("filing", "file"),
            ("happy", "happi"),
            ("relational", "relat"),
            ("vietnamization", "vietnam"),
            ("electricity", "electr"),
            ("adjustment", "adjust"),
            ("adoption", "adopt"),
            ("rate", "rate"),
            ("cease", "ceas"),
            ("controlling", "control"),
            ("roll", "roll"),
        ];
        for (word, expected) in examples {
            assert_eq!(stem(word), expected, "{word}");
        }
    }

    #[test]
    fn the_changes_of_nltk() {
        for (word, expected) in [("dies", "die"), ("died", "die"), ("spied", "spi"), ("enjoy", "enjoy"), ("fly", "fli")]
        {
            assert_eq!(stem(word), expected, "{word}");
        }
        for (word, expected) in [("skies", "sky"), ("archaeology", "archaeolog"), ("hopefully", "hope")] {
            assert_eq!(stem(word), expected, "{word}");
        }
    }
}
