//! OpenAI's models on Azure: chat completions at the resource's own address, by deployment.
//!
//! **Source**: Microsoft's "Azure OpenAI in Foundry Models REST API reference" (v1 and dated versions), 2026-11.

use schemars::JsonSchema;
use serde::Deserialize;

use super::credentials::KeyForm;
use super::openai::{MaxTokensField, OpenAi, PLACED, Sampling, WHOLE_REPLY};
use super::service::{At, Form, ServiceSettings};
use super::{Built, Kind, reasoning};
use crate::diagnostic::Diagnostics;
use crate::domain::Env;
use crate::net::{Dialect, Url};
use crate::suite::{Block, Draft};

pub(super) const KIND: Kind = Kind {
    name: FORM.name,
    summary: "OpenAI's models on Azure, by deployment",
    schema: || schemars::schema_for!(AzureSettings),
    build,
};

const FORM: Form = Form {
    name: "azure_openai",
    // Every resource has an address of its own.
    base: "",
    path: &[],
    key: KeyForm { header: "api-key", before: "", variable: "AZURE_OPENAI_API_KEY" },
    headers: &[],
    whole_reply: WHOLE_REPLY,
    placed: PLACED,
    dialect: |_| Dialect::AzureOpenAi,
    batches: None,
    structured: true,
};

/// The first dated version that knows `max_completion_tokens`.
const COMPLETION_TOKENS: &str = "2024-09-01";
/// Words for `api_version` that are no date: those of the path without deployments.
const UNDATED: &[&str] = &["v1", "latest", "preview"];

/// One of OpenAI's models on Azure. `base_url` is the resource's address (`https://NAME.openai.azure.com`), and `api_key` defaults to
/// AZURE_OPENAI_API_KEY; for Entra, give `headers: { authorization: "Bearer ${TOKEN}" }` instead.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct AzureSettings {
    #[serde(flatten)]
    service: ServiceSettings,
    #[serde(flatten)]
    sampling: Sampling,
    /// The deployment's name (default: that of the model).
    #[schemars(length(min = 1))]
    deployment: Option<String>,
    /// A dated version such as `2024-10-21`, asked at `/openai/deployments/…` (default: none, asked at `/openai/v1`).
    #[schemars(length(min = 1))]
    api_version: Option<String>,
}

fn build(block: &Block, env: &Env, diagnostics: &mut Diagnostics) -> Option<Built> {
    let Draft { settings, sound } = block.draft::<AzureSettings>(diagnostics)?;
    let AzureSettings { service, sampling, deployment, api_version } = settings;
    let base = address(block, service.base_url.as_deref(), sound, diagnostics);
    let named = if deployment.is_some() { "/deployment" } else { "/model" };
    let deployment = deployment.unwrap_or_else(|| service.model.clone());
    let is_name = is_path_part(&deployment);
    if sound && !is_name {
        let message = format!("`{deployment}` is no name of a deployment: it stands in the address");
        let help = "write the deployment's name, as Azure shows it, in `deployment`";
        diagnostics.push(block.problem(named, "deployment", message).help(help));
    }
    let base = base.filter(|_| is_name || !sound)?;
    // An address that was copied from the portal says its version itself.
    let of_address = || base.query_pairs().find(|(key, _)| key == "api-version").map(|(_, value)| value.into_owned());
    let version = api_version.or_else(of_address);
    let dated = version.as_deref().filter(|version| !UNDATED.contains(version));
    let field = match dated {
        Some(version) if version < COMPLETION_TOKENS => MaxTokensField::MaxTokens,
        Some(_) | None => MaxTokensField::MaxCompletionTokens,
    };
    reasoning::warn(block, &service, (sampling.temperature, sampling.top_p), diagnostics);
    let parameters = sampling.parameters(service.max_tokens, field);
    let below = format!("/{deployment}");
    let path: &[&str] = match dated {
        Some(_) => &["/openai", "/deployments", &below, "/chat/completions"],
        None => &["/openai", "/v1", "/chat/completions"],
    };
    let query = version.as_deref().map(|version| ("api-version", version));
    let at = At { path, query, own: is_azure(base.host_str().unwrap_or_default()), asked: &deployment };
    let ready = FORM.ready_at(block, &at, (service, sound), parameters, env, diagnostics)?;
    Some(ready.built(block, OpenAi))
}

/// The address as far as it can be read; what is wrong with one is told where it is checked.
fn address(block: &Block, base: Option<&str>, sound: bool, diagnostics: &mut Diagnostics) -> Option<Url> {
    let Some(base) = base else {
        if sound {
            let message =
                format!("model `{}` has no `base_url`: every Azure resource has an address of its own", block.name);
            let help = "add `base_url: https://NAME.openai.azure.com`, with the name of the resource";
            diagnostics.push(block.problem("", "missing-key", message).help(help));
        }
        return None;
    };
    match crate::net::check_address(base) {
        Ok(url) => Some(url),
        Err(error) => {
            diagnostics.push(block.problem("/base_url", "address", error.to_string()));
            None
        }
    }
}

/// Letters, digits, `-`, `_`, `.`, and not only dots: one part of a path, as it is.
pub(super) fn is_path_part(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        && name.bytes().any(|byte| byte != b'.')
}

/// Whether only Azure answers at this host.
pub(super) fn is_azure(host: &str) -> bool {
    let zones = [
        ".openai.azure.com",
        ".cognitiveservices.azure.com",
        ".services.ai.azure.com",
        ".openai.azure.us",
        ".openai.azure.cn",
    ];
    zones.iter().any(|zone| host.ends_with(zone))
}

#[cfg(test)]
mod tests;
