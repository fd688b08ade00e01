//! scoregate decides whether a change to an LLM or RAG application may merge.
//!
//! ```text
//! suite ─► dataset ─► engine ( target ─► evaluator ) ─► Run ─► gate ( policy, Baseline ) ─► Verdict ─► report ─► host
//! ```
//!
//! Data flows one way; a later stage never calls back into an earlier one. The rooms:
//!
//! | room | job |
//! | --- | --- |
//! | [`domain`] | the nouns that flow; no I/O, no async |
//! | [`diagnostic`] | a problem in a file, described so that a person can fix it |
//! | [`stats`] | numbers in, numbers out |
//! | [`text`] | pure text tools with a definition of their own |
//! | [`net`] | sockets and processes: send, receive, classify |
//! | [`suite`] | the YAML file → a validated suite |
//! | [`store`] | every byte we keep between runs: results, baselines, the ledger, cassettes |
//! | [`peer`] | other tools' results → runs |
//! | [`provider`] | one model API call in each dialect |
//! | [`rows`] | data files → rows and recorded answers |
//! | [`dataset`] | rows → cases |
//! | [`target`] | systems under test: a case → an answer |
//! | [`evaluator`] | a case and an answer → a score |
//! | [`engine`] | runs every case, in order, within limits |
//! | [`gate`] | a run, a baseline and a policy → a verdict |
//! | [`report`] | a run and a verdict → bytes or a screen |
//! | [`alert`] | tells people by a message to a chat or a webhook |
//! | [`host`] | shows the verdict where the code review happens |
//! | [`cli`] | chooses, connects, exits |
//!
//! `tests/architecture.rs` holds the table of who may import whom.

pub mod alert;
pub mod cli;
pub mod dataset;
pub mod diagnostic;
pub mod domain;
pub mod engine;
pub mod evaluator;
pub mod gate;
pub mod host;
pub mod net;
pub mod peer;
pub mod provider;
pub mod report;
pub mod rows;
pub mod stats;
pub mod store;
pub mod suite;
pub mod target;
pub mod text;
