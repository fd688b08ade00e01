use std::path::Path;

use super::*;
use crate::diagnostic::{Diagnostics, render};
use crate::domain::Env;

mod cases;
mod credentials;
mod settings;
mod skeleton;

const SMALL: &str = "version: 1\nname: small\ndataset: { path: a.csv }\nevaluators: { equals: {} }\n";

fn environment() -> Env {
    Env::from_pairs([
        ("APP_URL", "http://app.test:9000"),
        ("API_KEY", "sk-very-long-key"),
        ("SHORT", "abc"),
        ("EMPTY", ""),
    ])
}

fn suite(text: &str) -> Result<Suite, Diagnostics> {
    let folder = std::env::temp_dir().canonicalize().unwrap();
    load::parse(Path::new("scoregate.yaml"), text.as_bytes(), &folder, &environment()).sound()
}

/// What a person reads about a suite with problems.
fn problems(text: &str) -> String {
    render(&suite(text).unwrap_err())
}

/// `code line:column message` of each problem.
fn brief(text: &str) -> Vec<String> {
    list(&suite(text).unwrap_err())
}

fn list(diagnostics: &Diagnostics) -> Vec<String> {
    diagnostics
        .iter()
        .map(|diagnostic| {
            let span = diagnostic.span.unwrap_or_default();
            format!("{} {}:{} {}", diagnostic.code, span.line, span.column, diagnostic.message)
        })
        .collect()
}
