//! The YAML file → a validated [`Suite`]. It knows the skeleton (names, kinds, places) and leaves each block's settings to its
//! owner, who reads them with [`Block::settings`] and adds diagnostics; so this room imports no plug-in.
//!
//! bytes → `decode` → text → `read` → `node` → `interpolate` → `skeleton` → [`Suite`] of [`Block`]s → (`validate`, `explain`) → the
//! owner's settings. [`resolve`] says which files a suite may name, [`schema`] writes the whole form for editors.
//!
//! Promise: all problems of a file at once, each with file, line, column, the line itself and a hint; nothing is guessed: a value is
//! used as it is written, or refused. Variables are put in after parsing, so what they hold is never read as YAML.
//! Deliberately absent: includes, expressions, code.

mod accepted;
mod block;
mod decode;
mod environment;
mod explain;
mod interpolate;
mod load;
mod locate;
mod node;
mod path;
mod read;
mod read_error;
mod schema;
mod skeleton;
mod spec;
mod validate;

pub use block::{Block, Draft};
pub use environment::Environment;
pub use load::{Budget, Loaded, RunSettings, Suite, load, load_with_problems, name};
pub use path::{PathError, inside, resolve};
pub use schema::{SchemaParts, schema};
pub use spec::Reuse;

pub use crate::text::duration::Period;
pub use crate::text::pointer;

#[cfg(test)]
mod tests;
