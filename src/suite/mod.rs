//! The YAML file → a validated [`Suite`]. It knows the skeleton (names, kinds, places) and leaves each block's settings to its
//! owner, who reads them with [`Block::settings`] and adds diagnostics; so this room imports no plug-in.
//!
//! Promise: all problems of a file at once, each with file, line, column, the line itself and a hint; nothing is guessed.

mod block;
mod load;

pub use block::Block;
pub use load::{RunSettings, Suite, load};
