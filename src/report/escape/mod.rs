//! One file a sink: what its consumer takes for a command or for markup, and how that is broken (security §4).
//!
//! Every function takes a [`Clean`](super::clean::Clean) text and gives a type that only this sink's layout accepts.

mod azure_log;
mod github_log;
mod markdown;
mod terminal;
mod xml;

pub(crate) use azure_log::break_commands as break_azure_commands;
pub(crate) use github_log::{break_commands as break_github_commands, is_command};
pub(crate) use markdown::markdown;
pub(crate) use terminal::{guard, terminal_line};
pub use terminal::{terminal, terminal_block};
pub(crate) use xml::{XmlText, xml_attribute, xml_body};
