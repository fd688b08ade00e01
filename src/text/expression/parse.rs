//! Words → a tree, by recursive descent with bounded depth.

use super::token::{Placed, Token, tokens};
use super::{ExpressionError, Node, Operand, Operator};

/// Parentheses and `not` within each other.
const DEPTH: usize = 64;
/// Words in one expression: what a chain of `and` may hold without a deep tree.
const WORDS: usize = 1_000;

struct Parser {
    tokens: std::iter::Peekable<std::vec::IntoIter<Placed>>,
    /// Where the text ends, in characters from 1.
    end: usize,
    depth: usize,
    names: Vec<String>,
}

pub(super) fn parse(text: &str) -> Result<(Node, Vec<String>), ExpressionError> {
    let tokens = tokens(text)?;
    if tokens.len() > WORDS {
        return Err(ExpressionError {
            column: 1,
            reason: format!("the expression is too long: {} words, at most {WORDS}", tokens.len()),
        });
    }
    let end = text.trim_end().chars().count() + 1;
    let mut parser = Parser { tokens: tokens.into_iter().peekable(), end, depth: 0, names: Vec::new() };
    let root = parser.or()?;
    match parser.tokens.peek() {
        None => Ok((root, parser.names)),
        Some(_) => Err(parser.wrong("expected `and`, `or` or the end")),
    }
}

impl Parser {
    fn wrong(&mut self, reason: impl Into<String>) -> ExpressionError {
        let column = self.tokens.peek().map_or(self.end, |placed| placed.column);
        ExpressionError { column, reason: reason.into() }
    }

    fn take_if(&mut self, wanted: &Token) -> bool {
        self.tokens.next_if(|placed| placed.token == *wanted).is_some()
    }

    fn or(&mut self) -> Result<Node, ExpressionError> {
        let mut left = self.and()?;
        while self.take_if(&Token::Or) {
            left = Node::Or(Box::new(left), Box::new(self.and()?));
        }
        Ok(left)
    }

    fn and(&mut self) -> Result<Node, ExpressionError> {
        let mut left = self.not()?;
        while self.take_if(&Token::And) {
            left = Node::And(Box::new(left), Box::new(self.not()?));
        }
        Ok(left)
    }

    fn not(&mut self) -> Result<Node, ExpressionError> {
        if self.depth >= DEPTH {
            return Err(self.wrong(format!("nested too deep: at most {DEPTH} levels")));
        }
        self.depth += 1;
        let node = self.inner();
        self.depth -= 1;
        node
    }

    fn inner(&mut self) -> Result<Node, ExpressionError> {
        if self.take_if(&Token::Not) {
            return Ok(Node::Not(Box::new(self.not()?)));
        }
        if self.take_if(&Token::Open) {
            let node = self.or()?;
            return if self.take_if(&Token::Close) { Ok(node) } else { Err(self.wrong("expected `)`")) };
        }
        let left = self.operand()?;
        match self.operator()? {
            None => Ok(Node::Truth(left)),
            Some(operator) => Ok(Node::Compare(operator, left, self.operand()?)),
        }
    }

    fn operator(&mut self) -> Result<Option<Operator>, ExpressionError> {
        if self.take_if(&Token::Not) {
            if self.take_if(&Token::Operator(Operator::In)) {
                return Ok(Some(Operator::NotIn));
            }
            return Err(self.wrong("expected `in` after `not`"));
        }
        let placed = self.tokens.next_if(|placed| matches!(placed.token, Token::Operator(_)));
        Ok(placed.and_then(|placed| match placed.token {
            Token::Operator(operator) => Some(operator),
            _ => None,
        }))
    }

    fn operand(&mut self) -> Result<Operand, ExpressionError> {
        if self.take_if(&Token::ListOpen) {
            return self.list();
        }
        let simple = |placed: &Placed| matches!(placed.token, Token::Name(_) | Token::Literal(_));
        match self.tokens.next_if(simple).map(|placed| placed.token) {
            Some(Token::Name(name)) => {
                if !self.names.contains(&name) {
                    self.names.push(name.clone());
                }
                Ok(Operand::Name(name))
            }
            Some(Token::Literal(value)) => Ok(Operand::Literal(value)),
            _ => Err(self.wrong("expected a name, a quoted text, a number, true, false, null or a list")),
        }
    }

    fn list(&mut self) -> Result<Operand, ExpressionError> {
        let mut items = Vec::new();
        while !self.take_if(&Token::ListClose) {
            if !items.is_empty() && !self.take_if(&Token::Comma) {
                return Err(self.wrong("expected `,` or `]`"));
            }
            if matches!(self.tokens.peek(), Some(Placed { token: Token::ListOpen, .. })) {
                return Err(self.wrong("a list inside a list is not supported"));
            }
            items.push(self.operand()?);
        }
        Ok(Operand::List(items))
    }
}
