//! A service that scores.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::{BuildContext, Info, Kind, Needs, Ready, schema};
use super::ask::{Common, Reach, ready};
use crate::diagnostic::Diagnostics;
use crate::domain::{Direction, ScoreKind};
use crate::net::{Dialect, HttpRequest, Request, check_address, shown};
use crate::provider::Headers;
use crate::suite::{Block, Draft};

pub const INFO: Info = Info {
    name: "http",
    summary: "a service of your own scores the answer: JSON in, JSON out",
    score: ScoreKind::UNIT,
    direction: Direction::Higher,
    pass_mark: None,
    needs: &[Needs::Answer],
    version: 1,
    source: "this project: one JSON object in, one out; `pass`, `score` and `reason` as promptfoo's webhook has them",
};

pub(super) const KIND: Kind = Kind { info: &INFO, schema: schema::<Settings>, build };

/// A service that scores an answer: one POST of the JSON that a `command` is given, answered with the JSON that a `command` prints.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Settings {
    /// The address.
    #[schemars(length(min = 1))]
    url: String,
    /// Headers; values from the environment are credentials: they go to this address only and are never stored.
    headers: Option<BTreeMap<String, String>>,
    #[serde(flatten)]
    common: Common,
}

fn build(block: &Block, context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    let Draft { settings, sound } = block.draft::<Settings>(diagnostics)?;
    let Settings { url, headers, common } = settings;
    let address = match check_address(&url) {
        Ok(address) => Some(shown(&address)),
        Err(error) => {
            diagnostics.push(block.problem("/url", "address", error.to_string()));
            None
        }
    };
    let headers = Headers::build(block, "/headers", &headers.unwrap_or_default(), diagnostics);
    let way = address.zip(headers).map(|(address, headers)| {
        let mut plain = vec![("content-type".to_owned(), "application/json".to_owned())];
        plain.extend(headers.plain.into_iter().filter(|(name, _)| !name.eq_ignore_ascii_case("content-type")));
        let credentials = headers.credentials;
        let request = move |question: &str| {
            Request::Http(HttpRequest {
                method: ::http::Method::POST,
                url: url.clone(),
                headers: plain.clone(),
                credentials: credentials.clone(),
                body: question.to_owned().into(),
            })
        };
        Reach { who: address, dialect: Dialect::Plain, worker: false, request: Box::new(request) }
    });
    ready(block, &INFO, (common, sound), way, context, diagnostics)
}
