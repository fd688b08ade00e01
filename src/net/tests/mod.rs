//! Single attempts against real servers on loopback.

#[path = "../../../tests/integration/support/raw_server.rs"]
pub(crate) mod raw_server;

mod answers;
mod places;
mod redirects;
mod tls;

use std::time::Duration;

use super::{
    Attempt, Call, Client, Deadlines, Dialect, Expected, HttpRequest, Purpose, Rejection, Request, Response, Route,
};
use crate::domain::{EndpointLimits, Env, Secret};
use raw_server::{RawServer, Step, fixture, json};

fn client() -> Client {
    Client::new(&Env::default()).unwrap()
}

fn post(url: &str) -> Call {
    Call {
        request: Request::Http(HttpRequest {
            method: http::Method::POST,
            url: url.to_owned(),
            headers: vec![("content-type".to_owned(), "application/json".to_owned())],
            credentials: vec![("Authorization".to_owned(), Secret::new("KEY", "Bearer sk-very-long-key").unwrap())],
            body: "{\"question\": 1}".into(),
        }),
        endpoint: "app".into(),
        purpose: Purpose::Target,
        dialect: Dialect::Plain,
        deadlines: Deadlines { connect: Duration::from_secs(2), whole: Duration::from_secs(5) },
        trial: 0,
        version: None,
        redirects: false,
        route: Route::Direct,
        what: "answer of case q1".to_owned(),
        limits: EndpointLimits::default(),
        expected: Expected::default(),
    }
}

async fn attempt(call: &Call) -> Result<Response, Rejection> {
    client().attempt(call).await
}
