//! A value that remembers where it stood.

use super::Span;

#[derive(Clone, Debug, PartialEq)]
pub struct Located<T> {
    pub value: T,
    pub span: Span,
}
