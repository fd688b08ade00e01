//! The providers' own error words, which say more than the status: one function a dialect.

use super::Dialect;
use super::classify::Meaning;
use super::error_body::ErrorBody;

/// What the codes of a dialect mean; `None` where the status decides.
pub(super) fn by_words(dialect: Dialect, said: &ErrorBody) -> Option<Meaning> {
    match dialect {
        Dialect::Plain | Dialect::Raw => None,
        // Whoever says it, in whatever words: the next try would be as long.
        _ if is_too_long(said) => Some(Meaning::TooLong),
        Dialect::OpenAi | Dialect::AzureOpenAi => by_openai_words(said),
        Dialect::Anthropic => by_anthropic_words(said),
        Dialect::Gemini => by_gemini_words(said),
        Dialect::DashScope => by_dashscope_words(said),
    }
}

/// The request does not fit: into the model's context, or into what may be sent in a minute. **Source**: the error pages of OpenAI,
/// Anthropic, Google, Alibaba Cloud and Mistral, and the servers vLLM, llama.cpp and Ollama, 2026-11.
fn is_too_long(said: &ErrorBody) -> bool {
    let codes = [
        "context_length_exceeded",
        "string_above_max_length",
        // llama.cpp
        "exceed_context_size_error",
        // Anthropic, beyond 32 MB
        "request_too_large",
    ];
    let words = [
        "maximum context length",
        "exceeds the context window",
        "exceed context limit",
        "exceeds the available context size",
        "prompt is too long",
        "input is too long",
        // Gemini
        "input token count",
        // DashScope
        "range of input length should be",
        // OpenAI, with the code of a rate limit: a single request is larger than the tokens of a minute
        "request too large for",
    ];
    said.has(&codes) || said.mentions(&words)
}

fn by_openai_words(said: &ErrorBody) -> Option<Meaning> {
    let final_quota = [
        "insufficient_quota",
        "credit_balance_exhausted",
        "organization_spend_limit_exceeded",
        "project_spend_limit_exceeded",
        "organization_usage_limit_exceeded",
        "billing_hard_limit_reached",
        "billing_not_active",
    ];
    let filters = [
        "content_filter",
        "content_policy_violation",
        "image_content_policy_violation",
        "responsibleaipolicyviolation",
        "moderation_blocked",
        // Of the Responses API: a prompt that breaks the usage policy.
        "invalid_prompt",
        "bio_policy",
        "cyber_policy",
    ];
    // OpenRouter answers 403 for one prompt that its moderation stopped; the key is good.
    let flagged = said.mentions(&["requires moderation on", "your input was flagged"]);
    if said.has(&final_quota) {
        Some(Meaning::Quota)
    } else if said.has(&filters) || flagged {
        Some(Meaning::Filtered)
    } else if said.has(&["model_not_found", "deploymentnotfound", "invalid_model"]) {
        Some(Meaning::NotFound)
    } else if said.has(&["invalid_api_key", "invalid_authentication", "account_deactivated"]) {
        Some(Meaning::Auth)
    } else if said.has(&["unsupported_parameter", "unsupported_value", "unknown_parameter", "operationnotsupported"]) {
        Some(Meaning::Settings)
    } else if said.has(&["rate_limit_exceeded", "slow_down", "ratelimitreached"]) {
        Some(Meaning::RateLimited)
    } else if said.has(&["server_is_overloaded", "server_error"]) {
        Some(Meaning::Overloaded)
    } else {
        None
    }
}

fn by_anthropic_words(said: &ErrorBody) -> Option<Meaning> {
    let spent = said.has(&["enforced_spend_limit_reached", "billing_error"])
        || (said.has(&["invalid_request_error"]) && said.mentions(&["credit balance is too low", "spend limit"]));
    if spent {
        Some(Meaning::Quota)
    } else if said.has(&["overloaded_error", "api_error"]) {
        Some(Meaning::Overloaded)
    } else if said.has(&["rate_limit_error"]) {
        Some(Meaning::RateLimited)
    } else if said.has(&["timeout_error"]) {
        Some(Meaning::TimedOut)
    } else if said.has(&["authentication_error", "permission_error"]) {
        Some(Meaning::Auth)
    } else if said.has(&["not_found_error"]) {
        Some(Meaning::NotFound)
    } else {
        None
    }
}

fn by_gemini_words(said: &ErrorBody) -> Option<Meaning> {
    if said.has(&["resource_exhausted"]) {
        // A quota of the day also comes with a RetryInfo of seconds.
        let for_today = said.mentions(&["perday"]);
        let unpaid = said.retry_after.is_none() && said.mentions(&["plan and billing"]);
        return Some(if for_today || unpaid { Meaning::Quota } else { Meaning::RateLimited });
    }
    if said.has(&["api_key_invalid", "unauthenticated", "permission_denied"]) {
        Some(Meaning::Auth)
    } else if said.has(&["failed_precondition"]) {
        // For this account in this country: with billing, or not at all.
        Some(if said.mentions(&["billing"]) { Meaning::Quota } else { Meaning::Auth })
    } else if said.has(&["not_found"]) {
        Some(Meaning::NotFound)
    } else if said.has(&["deadline_exceeded"]) {
        Some(Meaning::TimedOut)
    } else if said.has(&["unavailable", "internal"]) {
        Some(Meaning::Overloaded)
    } else {
        None
    }
}

fn by_dashscope_words(said: &ErrorBody) -> Option<Meaning> {
    // A batch's line has its code before the message, others in `code`.
    let final_quota =
        said.has(&["arrearage", "allocationquota.freetieronly", "prepaidbilloverdue", "postpaidbilloverdue"]);
    if final_quota || said.mentions(&["freetieronly", "free quota", "free tier of the model has been exhausted"]) {
        Some(Meaning::Quota)
    } else if said.mentions(&["throttling", "limit_requests", "limit_burst_rate"]) || said.has(&["insufficient_quota"])
    {
        // Here, and only here, this code is a throttle.
        Some(Meaning::RateLimited)
    } else if said.has(&["data_inspection_failed", "datainspectionfailed"]) {
        Some(Meaning::Filtered)
    } else if said.has(&[
        "invalidapikey",
        "invalid_api_key",
        "accessdenied",
        "access_denied",
        "model.accessdenied",
        "workspace.accessdenied",
    ]) {
        Some(Meaning::Auth)
    } else if said.has(&["modelnotfound", "model_not_found", "model_not_supported"]) {
        Some(Meaning::NotFound)
    } else if said.has(&[
        "model_service_failed",
        "internalerror",
        "internal_error",
        "modelservingerror",
        "modelunavailable",
    ]) {
        Some(Meaning::Overloaded)
    } else if said.has(&["requesttimeout", "responsetimeout", "request_timeout"]) {
        Some(Meaning::TimedOut)
    } else {
        None
    }
}

/// An error object without a status, from a server of no known dialect: its words decide; an unknown breakdown may pass.
pub(super) fn by_common_words(said: &ErrorBody) -> Meaning {
    if is_too_long(said) {
        Meaning::TooLong
    } else if said.mentions(&["rate_limit", "rate limit", "too many requests", "too_many_requests", "throttl"]) {
        Meaning::RateLimited
    } else if said.mentions(&["insufficient_quota", "insufficient balance", "insufficient credits"]) {
        Meaning::Quota
    } else if said.mentions(&["api key", "api_key", "unauthorized", "authentication"]) {
        Meaning::Auth
    } else if said.mentions(&["content_filter", "content filter", "content_policy"]) {
        Meaning::Filtered
    } else if said.mentions(&["timeout", "timed out"]) {
        Meaning::TimedOut
    } else if said.mentions(&["model_not_found", "not_found_error"]) {
        Meaning::NotFound
    } else if said.mentions(&["invalid_request"]) {
        Meaning::Request
    } else {
        Meaning::Overloaded
    }
}
