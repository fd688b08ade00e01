//! What each service wants to be sent, and what its answer means.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::card;
use super::news::News;
use super::settings::ServiceName;
use super::sign;
use crate::domain::Secret;
use crate::text::template::JsonTemplate;

/// A service with what it needs of the suite.
#[derive(Debug)]
pub(super) struct Service {
    name: ServiceName,
    secret: Option<Secret>,
    body: Option<JsonTemplate>,
}

impl Service {
    pub(super) fn new(name: ServiceName, secret: Option<Secret>, body: Option<JsonTemplate>) -> Self {
        Self { name, secret, body }
    }

    pub(super) fn secret(&self) -> Option<&Secret> {
        self.secret.as_ref()
    }

    /// Address and body of the message. `now` is milliseconds since 1970, for signatures.
    ///
    /// # Errors
    /// A template that cannot be filled, in words.
    pub(super) fn message(&self, url: &str, news: &News, now: i64) -> Result<(String, Value), String> {
        let url = url.to_owned();
        Ok(match self.name {
            ServiceName::Slack => (url, card::slack(news)),
            ServiceName::Teams => (url, card::teams(news)),
            ServiceName::Feishu => {
                let mut body = card::feishu(news);
                if let Some(secret) = &self.secret {
                    let seconds = now / 1_000;
                    body["timestamp"] = json!(seconds.to_string());
                    body["sign"] = json!(sign::feishu(secret.expose(), seconds));
                }
                (url, body)
            }
            ServiceName::Dingtalk => (self.signed(url, now), card::dingtalk(news)),
            ServiceName::Webhook => (
                url,
                match &self.body {
                    Some(template) => template.render(&|name| news.lookup(name)).map_err(|error| error.to_string())?,
                    None => card::plain(news),
                },
            ),
        })
    }

    fn signed(&self, url: String, now: i64) -> String {
        let Some(secret) = &self.secret else { return url };
        let sign = sign::dingtalk(secret.expose(), now);
        let gap = if url.contains('?') { '&' } else { '?' };
        format!("{url}{gap}timestamp={now}&sign={}", utf8_percent_encode(&sign, NON_ALPHANUMERIC))
    }

    /// Two chats refuse with the status 200: a code that is not 0 in the body. `Err` is the code, if it says one, and the service's own words.
    pub(super) fn heard(&self, body: &[u8]) -> Result<(), (Option<i64>, String)> {
        let (codes, words): (&[&str], &str) = match self.name {
            ServiceName::Feishu => (&["code", "StatusCode"], "msg"),
            ServiceName::Dingtalk => (&["errcode"], "errmsg"),
            ServiceName::Slack | ServiceName::Teams | ServiceName::Webhook => return Ok(()),
        };
        let answer: Value = serde_json::from_slice(body).unwrap_or_default();
        match codes.iter().find_map(|code| answer.get(*code)?.as_i64()) {
            Some(0) => Ok(()),
            Some(code) => Err((Some(code), answer.get(words).and_then(Value::as_str).unwrap_or_default().to_owned())),
            None => Err((None, "it does not say that it took the message".to_owned())),
        }
    }

    /// Codes that mean "too fast", not "no".
    pub(super) fn may_come_again(&self, code: i64) -> bool {
        match self.name {
            // open.feishu.cn, "Custom bot usage guide": frequency limited.
            ServiceName::Feishu => matches!(code, 9_499 | 11_232),
            // open.dingtalk.com, "Custom robots": -1 busy, 130101 sent too fast.
            ServiceName::Dingtalk => matches!(code, -1 | 130_101),
            ServiceName::Slack | ServiceName::Teams | ServiceName::Webhook => false,
        }
    }
}
