use super::*;
use proptest::prelude::*;
use serde_json::json;

fn response(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Response {
    Response {
        status,
        headers: headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        body: body.to_vec().into(),
        latency: Duration::ZERO,
    }
}

/// Head and body of a recorded answer.
fn fixture(bytes: &[u8]) -> Response {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    Response { status, headers, body: body.as_bytes().to_vec().into(), latency: Duration::ZERO }
}

fn of(status: u16, dialect: Dialect, body: &Value) -> (FailureKind, RetryClass) {
    let rejection = classify(&response(status, &[], body.to_string().as_bytes()), dialect, "http://x/");
    (rejection.kind, rejection.class)
}

#[test]
fn a_refusal_says_what_it_is_about_or_it_is_unclear() {
    for (message, expected) in [
        ("Rate limit reached: 50 requests per minute", Complaint::TooFast),
        ("Limit: 10 requests/s.", Complaint::TooFast),
        ("quota of 60/min used", Complaint::TooFast),
        ("too many concurrent requests", Complaint::TooMany),
        ("slow down, see https://example.com/support and https://example.com/settings/s", Complaint::Unclear),
        ("slow down", Complaint::Unclear),
    ] {
        let body = json!({"error": {"message": message}}).to_string();
        let rejection = classify(&response(429, &[], body.as_bytes()), Dialect::OpenAi, "http://x/");
        assert_eq!(rejection.hint.complaint, Some(expected), "{message}");
    }
}

#[test]
fn statuses_fall_into_the_classes_of_the_table() {
    use FailureKind as K;
    use RetryClass as C;
    for (status, kind, class) in [
        (400, K::BadRequest, C::Case),
        (401, K::Auth, C::Endpoint),
        (402, K::Quota, C::Endpoint),
        (403, K::Auth, C::Endpoint),
        (404, K::NotFound, C::Endpoint),
        (408, K::Timeout, C::Retry),
        (409, K::Server, C::Retry),
        (413, K::BadRequest, C::Case),
        (422, K::BadRequest, C::Case),
        (425, K::Server, C::Retry),
        (429, K::RateLimited, C::Retry),
        (500, K::Server, C::Retry),
        (502, K::Server, C::Retry),
        (503, K::Server, C::Retry),
        (529, K::Server, C::Retry),
        (302, K::Redirect, C::Case),
    ] {
        assert_eq!(of(status, Dialect::Plain, &json!({})), (kind, class), "{status}");
    }
}

#[test]
fn one_code_means_different_things_to_different_providers() {
    let body = json!({"error": {"code": "insufficient_quota", "type": "insufficient_quota", "message": "m"}});
    assert_eq!(of(429, Dialect::OpenAi, &body), (FailureKind::Quota, RetryClass::Endpoint));
    assert_eq!(of(429, Dialect::DashScope, &body), (FailureKind::RateLimited, RetryClass::Retry));
    assert_eq!(of(429, Dialect::Plain, &body), (FailureKind::RateLimited, RetryClass::Retry));
}

#[test]
fn providers_hide_final_errors_in_retryable_statuses() {
    use Dialect as D;
    use FailureKind as K;
    use RetryClass as C;
    let anthropic = |kind: &str, code: Option<&str>, message: &str| json!({"type": "error", "error": {"type": kind, "message": message, "details": {"error_code": code}}});
    let google = |details: Value, message: &str| json!({"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": message, "details": details}});
    let wait = json!([{"retryDelay": "38s"}]);
    let day = json!([{"violations": [{"quotaId": "RequestsPerDay"}]}, {"retryDelay": "3s"}]);
    let spent = Some("enforced_spend_limit_reached");
    let low = "Your credit balance is too low";
    for (status, dialect, body, kind, class) in [
        (429, D::Anthropic, anthropic("rate_limit_error", None, "slow"), K::RateLimited, C::Retry),
        (429, D::Anthropic, anthropic("rate_limit_error", spent, ""), K::Quota, C::Endpoint),
        (400, D::Anthropic, anthropic("invalid_request_error", None, low), K::Quota, C::Endpoint),
        (529, D::Anthropic, anthropic("overloaded_error", None, "Overloaded"), K::Server, C::Retry),
        (429, D::Gemini, google(wait, "m"), K::RateLimited, C::Retry),
        (429, D::Gemini, google(day, "m"), K::Quota, C::Endpoint),
        (429, D::Gemini, google(json!([]), "check your plan and billing details"), K::Quota, C::Endpoint),
        (
            400,
            D::AzureOpenAi,
            json!({"error": {"code": "content_filter", "innererror": {"code": "ResponsibleAIPolicyViolation"}}}),
            K::Filtered,
            C::Case,
        ),
        (404, D::AzureOpenAi, json!({"error": {"code": "DeploymentNotFound"}}), K::NotFound, C::Endpoint),
        (400, D::OpenAi, json!({"error": {"code": "unsupported_value"}}), K::BadRequest, C::Endpoint),
        (400, D::OpenAi, json!({"error": {"code": "context_length_exceeded"}}), K::TooLong, C::Case),
        (429, D::DashScope, json!({"code": "Throttling.AllocationQuota", "message": "m"}), K::RateLimited, C::Retry),
        (400, D::DashScope, json!({"code": "Arrearage", "message": "m"}), K::Quota, C::Endpoint),
        (400, D::DashScope, json!({"error": {"code": "data_inspection_failed"}}), K::Filtered, C::Case),
    ] {
        assert_eq!(of(status, dialect, &body), (kind, class), "{status} {dialect:?} {body}");
    }
}

#[test]
fn http_429_day_quota() {
    let answer = fixture(include_bytes!("../../../fixtures/cases/http/429-day-quota.http"));
    let rejection = classify(&answer, Dialect::Plain, "http://x/");
    assert_eq!((rejection.kind, rejection.class), (FailureKind::Quota, RetryClass::Endpoint));
    assert!(rejection.message.contains("waiting does not help"), "{}", rejection.message);
}

#[test]
fn http_429_html() {
    let answer = fixture(include_bytes!("../../../fixtures/cases/http/429-html.http"));
    let rejection = classify(&answer, Dialect::OpenAi, "http://x/q");
    assert_eq!(rejection.message, "http://x/q answered 429 Too Many Requests: Too many requests");
    let empty = classify(&response(503, &[], b""), Dialect::OpenAi, "http://x/q");
    assert_eq!(empty.message, "http://x/q answered 503 Service Unavailable");
}

#[test]
fn http_429_date() {
    let answer = fixture(include_bytes!("../../../fixtures/cases/http/429-date.http"));
    assert_eq!(classify(&answer, Dialect::Plain, "").hint.retry_after, Some(Duration::from_secs(3)));
}

#[test]
fn http_200_error_body() {
    let answer = fixture(include_bytes!("../../../fixtures/cases/http/200-error-body.http"));
    let body: Value = serde_json::from_slice(&answer.body).unwrap();
    let rejection = classify_error_object(&body, Dialect::OpenAi, "http://x/").unwrap();
    assert_eq!((rejection.kind, rejection.class), (FailureKind::RateLimited, RetryClass::Retry));
    assert!(classify_error_object(&json!({"choices": [], "error": null}), Dialect::OpenAi, "").is_none());
    let coded = json!({"error": {"code": 401, "message": "no"}});
    assert_eq!(classify_error_object(&coded, Dialect::OpenAi, "").unwrap().kind, FailureKind::Auth);
    let unknown = json!({"error": {"message": "upstream broke"}});
    assert_eq!(classify_error_object(&unknown, Dialect::OpenAi, "").unwrap().class, RetryClass::Retry);
}

#[test]
fn a_server_may_say_that_retrying_is_useless() {
    let answer = response(500, &[("x-should-retry", "false")], b"{}");
    assert_eq!(classify(&answer, Dialect::OpenAi, "").class, RetryClass::Case);
}

proptest! {
    #[test]
    fn any_answer_is_classified(status in 100_u16..1000, body in proptest::collection::vec(any::<u8>(), 0..120)) {
        use Dialect::{Anthropic, AzureOpenAi, DashScope, Gemini, OpenAi, Plain, Raw};
        for dialect in [Plain, Raw, OpenAi, AzureOpenAi, Anthropic, Gemini, DashScope] {
            let rejection = classify(&response(status, &[], &body), dialect, "http://x/");
            prop_assert!(!rejection.message.is_empty());
        }
    }
}
