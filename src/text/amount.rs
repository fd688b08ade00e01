//! The numbers that stand in a text.

/// What separates the decimals; the other mark groups thousands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decimal {
    /// 1,234.5
    Point,
    /// 1.234,5
    Comma,
}

/// All numbers of a text, in their order: with sign, groups of thousands, decimals and exponent; full-width digits too.
///
/// A number right behind a Latin letter is part of a name (`PEP8`), a dash behind a digit or letter no sign (`2020-05`). What is too
/// large for a number is left out.
pub fn amounts(text: &str, decimal: Decimal) -> Vec<f64> {
    let characters: Vec<char> = text.chars().map(plain).collect();
    let (point, group) = match decimal {
        Decimal::Point => ('.', ','),
        Decimal::Comma => (',', '.'),
    };
    let reader = Reader { characters: &characters, point, group };
    let mut found = Vec::new();
    let mut at = 0;
    while at < characters.len() {
        match reader.number(at) {
            Some((number, end)) => {
                found.extend(number);
                at = end;
            }
            None => at += 1,
        }
    }
    found
}

/// Full-width digits and marks, and the signs of typography, as plain ones.
fn plain(c: char) -> char {
    match c {
        '\u{ff10}'..='\u{ff19}' | '\u{ff0b}'..='\u{ff0e}' => char::from_u32(u32::from(c) - 0xff00 + 0x20).unwrap_or(c),
        '\u{2212}' => '-',
        '\u{a0}' | '\u{202f}' => '\u{2009}',
        other => other,
    }
}

struct Reader<'c> {
    characters: &'c [char],
    point: char,
    group: char,
}

impl Reader<'_> {
    fn at(&self, at: usize) -> Option<char> {
        self.characters.get(at).copied()
    }

    fn is_digit(&self, at: usize) -> bool {
        self.at(at).is_some_and(|c| c.is_ascii_digit())
    }

    /// The number that begins here (`None` where it is too large), and where it ends.
    fn number(&self, start: usize) -> Option<(Option<f64>, usize)> {
        let signed = matches!(self.at(start), Some('-' | '+'));
        let mut at = start + usize::from(signed);
        let before = start.checked_sub(1).and_then(|before| self.at(before));
        let begins = self.is_digit(at) || (self.at(at) == Some(self.point) && self.is_digit(at + 1));
        if !begins
            || before.is_some_and(|c| if signed { c.is_alphanumeric() } else { c.is_ascii_alphabetic() || c == '_' })
        {
            // Skips the rest of a number that is part of a name.
            return (self.is_digit(start) && before.is_some_and(|c| c.is_ascii_alphabetic() || c == '_'))
                .then(|| (None, self.digits(start)));
        }
        let mut digits = String::new();
        if self.at(start) == Some('-') {
            digits.push('-');
        }
        at = self.whole(at, &mut digits);
        if self.at(at) == Some(self.point) && self.is_digit(at + 1) {
            digits.push('.');
            at = self.copy(at + 1, &mut digits);
        }
        at = self.exponent(at, &mut digits);
        let number: Option<f64> = digits.parse().ok();
        Some((number.filter(|number| number.is_finite()), at))
    }

    /// Where the digits that begin here end.
    fn digits(&self, mut at: usize) -> usize {
        while self.is_digit(at) {
            at += 1;
        }
        at
    }

    fn copy(&self, at: usize, digits: &mut String) -> usize {
        let end = self.digits(at);
        digits.extend(self.characters.get(at..end).unwrap_or_default());
        end
    }

    /// Digits, with groups of three behind the group mark or a thin space.
    fn whole(&self, at: usize, digits: &mut String) -> usize {
        let mut end = self.copy(at, digits);
        if end - at > 3 || end == at {
            return end;
        }
        while matches!(self.at(end), Some(c) if c == self.group || c == '\u{2009}' || c == '\'')
            && self.digits(end + 1) == end + 4
        {
            end = self.copy(end + 1, digits);
        }
        end
    }

    fn exponent(&self, at: usize, digits: &mut String) -> usize {
        if !matches!(self.at(at), Some('e' | 'E')) {
            return at;
        }
        let sign = self.at(at + 1).filter(|c| matches!(c, '-' | '+'));
        let first = at + 1 + usize::from(sign.is_some());
        if !self.is_digit(first) {
            return at;
        }
        digits.push('e');
        digits.extend(sign);
        self.copy(first, digits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_people_write_them() {
        let point = |text| amounts(text, Decimal::Point);
        assert_eq!(point("about 1,234.5 or -3.2e-2, and .5"), [1234.5, -0.032, 0.5]);
        assert_eq!(point("约３．５公里，共12个"), [3.5, 12.0]);
        assert_eq!(point("2020-05, \u{2212}4 (+7)"), [2020.0, 5.0, -4.0, 7.0]);
        assert_eq!(point("PEP8 and PEP 8 v2_10"), [8.0]);
        assert_eq!(point("1,2,3"), [1.0, 2.0, 3.0]);
        assert_eq!(point("12%. 10\u{a0}000 3e5x 4e"), [12.0, 10_000.0, 300_000.0, 4.0]);
        assert_eq!(point("1e999 -"), [0.0; 0]);
        assert_eq!(amounts("1.234,5 und 2.000", Decimal::Comma), [1234.5, 2000.0]);
    }
}
