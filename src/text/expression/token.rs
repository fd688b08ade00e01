//! Text → words, each with its place.

use serde_json::{Number, Value};

use super::{ExpressionError, Operator};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Name(String),
    Literal(Value),
    Operator(Operator),
    And,
    Or,
    Not,
    Open,
    Close,
    ListOpen,
    ListClose,
    Comma,
}

pub(super) struct Placed {
    pub token: Token,
    /// In characters, from 1.
    pub column: usize,
}

struct Scanner<'t> {
    rest: std::iter::Peekable<std::str::Chars<'t>>,
    column: usize,
}

pub(super) fn tokens(text: &str) -> Result<Vec<Placed>, ExpressionError> {
    let mut scanner = Scanner { rest: text.chars().peekable(), column: 1 };
    let mut found = Vec::new();
    while let Some(first) = scanner.rest.peek().copied() {
        if first.is_whitespace() {
            scanner.take();
            continue;
        }
        let column = scanner.column;
        let token = scanner.token(first).map_err(|reason| ExpressionError { column, reason })?;
        found.push(Placed { token, column });
    }
    Ok(found)
}

impl Scanner<'_> {
    fn take(&mut self) -> Option<char> {
        self.column += 1;
        self.rest.next()
    }

    fn take_if(&mut self, wanted: char) -> bool {
        let found = self.rest.peek() == Some(&wanted);
        if found {
            self.take();
        }
        found
    }

    fn token(&mut self, first: char) -> Result<Token, String> {
        match first {
            '\'' | '"' => self.quoted(first),
            '`' => self.backticked(),
            '0'..='9' | '-' | '.' => self.number(),
            _ if first.is_alphabetic() || first == '_' => Ok(self.word()),
            _ => {
                self.take();
                self.symbol(first)
            }
        }
    }

    fn symbol(&mut self, first: char) -> Result<Token, String> {
        let operator = match (first, self.take_if('=')) {
            ('=', true) => Operator::Equal,
            ('!', true) => Operator::NotEqual,
            ('<', true) => Operator::LessOrEqual,
            ('<', false) => Operator::Less,
            ('>', true) => Operator::GreaterOrEqual,
            ('>', false) => Operator::Greater,
            ('=', false) => return Err("`=` is no comparison: write `==`".to_owned()),
            ('!', false) => return Err("write `not` instead of `!`".to_owned()),
            ('&', _) => return Err("write `and` instead of `&`".to_owned()),
            ('|', _) => return Err("write `or` instead of `|`".to_owned()),
            ('(', false) => return Ok(Token::Open),
            (')', false) => return Ok(Token::Close),
            ('[', false) => return Ok(Token::ListOpen),
            (']', false) => return Ok(Token::ListClose),
            (',', false) => return Ok(Token::Comma),
            _ => return Err(format!("unexpected character U+{:04X}", u32::from(first))),
        };
        Ok(Token::Operator(operator))
    }

    fn quoted(&mut self, quote: char) -> Result<Token, String> {
        self.take();
        let mut text = String::new();
        loop {
            match self.take() {
                None => return Err("this quote is never closed".to_owned()),
                Some(end) if end == quote => return Ok(Token::Literal(Value::String(text))),
                Some('\\') => text.push(self.escaped()?),
                Some(other) => text.push(other),
            }
        }
    }

    fn escaped(&mut self) -> Result<char, String> {
        match self.take() {
            Some(same @ ('\\' | '\'' | '"')) => Ok(same),
            Some('n') => Ok('\n'),
            Some('t') => Ok('\t'),
            _ => Err("in quotes, a backslash stands before a quote, a backslash, `n` or `t` only".to_owned()),
        }
    }

    fn backticked(&mut self) -> Result<Token, String> {
        self.take();
        let mut name = String::new();
        loop {
            match self.take() {
                None => return Err("this backtick is never closed".to_owned()),
                Some('`') => return Ok(Token::Name(name)),
                Some(other) => name.push(other),
            }
        }
    }

    fn number(&mut self) -> Result<Token, String> {
        let mut text = String::new();
        while let Some(next) = self.rest.peek().copied() {
            let sign = matches!(next, '-' | '+') && (text.is_empty() || text.ends_with(['e', 'E']));
            if !(next.is_alphanumeric() || next == '.' || next == '_' || sign) {
                break;
            }
            text.push(next);
            self.take();
        }
        match serde_json::from_str::<Number>(&text) {
            Ok(number) => Ok(Token::Literal(Value::Number(number))),
            Err(_) => Err("this is no decimal number; put text in quotes".to_owned()),
        }
    }

    fn word(&mut self) -> Token {
        let mut word = String::new();
        while let Some(next) = self.rest.peek().copied() {
            if !(next.is_alphanumeric() || matches!(next, '_' | '-' | '.')) {
                break;
            }
            word.push(next);
            self.take();
        }
        match word.as_str() {
            "and" => Token::And,
            "or" => Token::Or,
            "not" => Token::Not,
            "in" => Token::Operator(Operator::In),
            "contains" => Token::Operator(Operator::Contains),
            "true" => Token::Literal(Value::Bool(true)),
            "false" => Token::Literal(Value::Bool(false)),
            "null" => Token::Literal(Value::Null),
            _ => Token::Name(word),
        }
    }
}
