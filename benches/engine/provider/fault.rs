//! What a provider in trouble does to an answer.

use serde::{Deserialize, Serialize};

use super::http::{Answer, End};
use super::random::unit;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fault {
    /// 500 `server_error`.
    Broken,
    /// 503 without a word about when to come again.
    Unavailable,
    /// Connection reset before any byte of the answer.
    Drop,
    /// Connection reset in the middle of the body.
    Reset,
    /// Connection closed in the middle of the body.
    Cut,
    /// 200 whose JSON ends in the middle.
    Truncated,
    /// 502 with a page of a proxy.
    Page,
}

/// The fault that strikes, if one does; `draw` decides.
pub fn draw(faults: &[(Fault, f64)], draw: u64) -> Option<Fault> {
    let mut left = unit(draw);
    for (fault, share) in faults {
        if left < *share {
            return Some(*fault);
        }
        left -= share;
    }
    None
}

impl Fault {
    /// What becomes of a good answer.
    pub fn spoil(self, good: Answer) -> Answer {
        match self {
            Self::Broken => {
                Answer::error(500, "server_error", "The server had an error while processing your request.")
            }
            Self::Unavailable => Answer::error(503, "server_error", "The engine is currently overloaded."),
            Self::Drop => good.ending(End::Nothing),
            Self::Reset => good.ending(End::Reset),
            Self::Cut => good.ending(End::Cut),
            Self::Truncated => good.halved(),
            Self::Page => Answer::page(502, "<html><body><h1>502 Bad Gateway</h1></body></html>"),
        }
    }
}
