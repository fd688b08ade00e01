//! Integration tests: one binary, a module per room. `support` holds what they share.

#[cfg(unix)]
mod accepting;
mod accounts;
#[cfg(unix)]
mod action;
mod alerts;
#[cfg(unix)]
mod azure;
mod base_branch;
mod baselines;
#[cfg(unix)]
#[path = "support/batch_server.rs"]
mod batch_server;
#[cfg(unix)]
mod batches;
#[cfg(unix)]
mod cassettes;
#[path = "support/chat_server.rs"]
mod chat_server;
#[cfg(feature = "cloud")]
mod cloud;
#[path = "support/command.rs"]
mod command;
mod compare;
mod datasets;
mod determinism;
mod documents;
#[cfg(unix)]
#[path = "support/downloads.rs"]
mod downloads;
#[cfg(unix)]
mod evaluators;
mod events;
mod examples;
mod exit_codes;
#[path = "support/fake_azure.rs"]
mod fake_azure;
#[path = "support/fake_github.rs"]
mod fake_github;
#[path = "support/fake_gitlab.rs"]
mod fake_gitlab;
#[path = "support/fake_server.rs"]
mod fake_server;
#[cfg(unix)]
mod gating;
mod github;
mod gitlab;
mod http;
mod judges;
mod junit;
mod ledger;
#[cfg(unix)]
mod live;
mod logs;
#[cfg(unix)]
mod looks;
#[cfg(unix)]
mod packing;
#[cfg(unix)]
mod pipelines;
mod places;
mod planning;
mod problems;
#[cfg(unix)]
#[path = "support/process.rs"]
mod process;
#[cfg(unix)]
mod programs;
#[path = "support/proposal.rs"]
mod proposal;
mod providers;
mod quickstart;
#[path = "support/raw_server.rs"]
mod raw_server;
#[cfg(unix)]
mod refreshing;
mod release;
#[cfg(target_os = "linux")]
mod reliability;
#[path = "support/runner.rs"]
mod runner;
#[cfg(unix)]
mod runs;
#[cfg(target_os = "linux")]
#[path = "support/scripted_server.rs"]
mod scripted_server;
mod selection;
mod shards;
#[path = "support/tls_server.rs"]
mod tls_server;
#[cfg(unix)]
mod trials;
mod verdicts;
mod yardsticks;
