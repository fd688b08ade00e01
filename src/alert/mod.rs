//! Tells people where they talk: one message to a chat or a webhook when a run fails, when a level drifts, or always.
//!
//! ```text
//! suite (`alerts:`) ─► build ─► Alert ┐
//! Verdict, drift ─► News ─────────────┴─► send ─► what could not be told
//! ```
//!
//! Promises: a message never changes a verdict or an exit code; an address and a signing secret are shown nowhere, not even in an error;
//! texts are put into JSON as values, so that none becomes a mention, a link or another key; a service that answers "no" with the status
//! 200 is heard. Sending is bounded: three attempts, half a minute for all alerts together.
//! Deliberately absent: templates that run code, and more than one message an alert and run.

mod card;
mod news;
mod send;
mod service;
mod settings;
mod sign;

pub use news::{NAMES, News};
pub use send::send;
pub use settings::{Alert, build, schema};

#[cfg(test)]
mod tests;
