//! How few tokens a text can have: a service that counts fewer has not read all of it.

/// Shorter prompts fit into any context.
const SHORT: u64 = 6_000;
/// Letters of one token at most, on average over a long text. English has about 4.5, German 3.5, Hindi and Thai less.
const LETTERS_A_TOKEN: u64 = 8;
/// What a Chinese, Japanese or Korean character weighs in such letters: one token has fewer than two of them.
const WIDE: u64 = 3;

/// The least number of tokens that any tokenizer makes of these texts together; 0 where they are too short to be cut anywhere.
///
/// White space and repeated letters or signs (`-----`) count once, since a whole run of them may be one token.
pub(super) fn least_tokens<'a>(texts: impl Iterator<Item = &'a str>) -> u64 {
    let letters: u64 = texts.map(weight).sum();
    if letters < SHORT { 0 } else { letters / LETTERS_A_TOKEN }
}

fn weight(text: &str) -> u64 {
    let (mut sum, mut before) = (0_u64, '\0');
    for letter in text.chars() {
        let repeated = letter == before || (letter.is_whitespace() && before.is_whitespace());
        if !repeated {
            sum = sum.saturating_add(if is_wide(letter) { WIDE } else { 1 });
        }
        before = letter;
    }
    sum
}

/// Kana, Han, Hangul.
fn is_wide(letter: char) -> bool {
    matches!(letter, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{20000}'..='\u{323af}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn least(text: &str) -> u64 {
        least_tokens(std::iter::once(text))
    }

    #[test]
    fn a_text_is_never_said_to_have_more_tokens_than_it_may() {
        // o200k_base makes 9 tokens of the first sentence and 8 of the second.
        let english = "The refund window is thirty days long. ".repeat(400);
        let chinese = "退款期限为三十天，请保留收据。".repeat(400);
        assert!((1_500..9 * 400).contains(&least(&english)), "{}", least(&english));
        assert!((1_500..8 * 400).contains(&least(&chinese)), "{}", least(&chinese));
    }

    #[test]
    fn runs_of_nothing_count_once_and_short_prompts_are_not_checked() {
        let rule = "-".repeat(100_000) + &"x".repeat(100_000);
        let blank = " \n".repeat(100_000);
        assert_eq!((least(&rule), least(&blank), least("Is it so?")), (0, 0, 0));
        assert_eq!(least_tokens(["ab".repeat(2_000).as_str(), &"cd".repeat(2_000)].into_iter()), 1_000);
    }
}
