//! A model's key: where it comes from, and to whom it may go.

use super::Headers;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::domain::{Env, Secret};
use crate::suite::Block;

/// How a provider wants its key.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyForm {
    /// The header that carries it.
    pub(super) header: &'static str,
    /// What stands before it: `Bearer `.
    pub(super) before: &'static str,
    /// The variable of the environment that holds it where the suite names none.
    pub(super) variable: &'static str,
}

/// A key in both of its forms.
pub(super) struct Key {
    /// As it is sent.
    pub(super) header: Secret,
    /// To be masked wherever it appears; `None` for words such as `none` that stand in the suite itself.
    pub(super) bare: Option<Secret>,
}

/// What the suite says about a model's key.
pub(super) struct Said<'a> {
    pub(super) block: &'a Block,
    pub(super) api_key: Option<&'a str>,
    /// The suite names another address than the provider's own.
    pub(super) elsewhere: bool,
    pub(super) headers: Option<&'a Headers>,
}

/// The key to send, `Some(None)` for a service that needs none; outer `None` after pushing diagnostics.
///
/// The key of the environment goes to the provider's own address only: another one is named in the suite, or gets none.
pub(super) fn key(said: &Said<'_>, form: KeyForm, env: &Env, diagnostics: &mut Diagnostics) -> Option<Option<Key>> {
    let block = said.block;
    let named = said.api_key.filter(|key| !key.trim().is_empty());
    let carries = |(name, _): &(String, Secret)| {
        name.eq_ignore_ascii_case(form.header) || name.eq_ignore_ascii_case("authorization")
    };
    let in_headers = said.headers.is_some_and(|headers| headers.credentials.iter().any(carries));
    let of_environment = env.credential(form.variable);
    let (place, name, value) = match (named, of_environment.as_deref()) {
        (Some(key), _) => ("/api_key", "api_key", key),
        (None, _) if said.elsewhere || in_headers => return Some(None),
        (None, Some(key)) => ("", form.variable, key),
        (None, None) => {
            diagnostics.push(no_key(block, form));
            return None;
        }
    };
    if http::HeaderValue::from_str(value).is_err() {
        let message = format!("the key in `{name}` holds characters that no key has, such as a line end");
        diagnostics.push(block.problem(place, "credentials", message));
        return None;
    }
    let bare = Secret::new(name, value);
    let from_environment = named.is_none() || block.written.from_environment.contains("/api_key");
    match (Secret::new(name, format!("{}{value}", form.before)), bare) {
        (Ok(header), Ok(bare)) => Some(Some(Key { header, bare: Some(bare) })),
        (Ok(header), Err(_)) if !from_environment => Some(Some(Key { header, bare: None })),
        (_, Err(error)) | (Err(error), _) => {
            diagnostics.push(block.problem(place, "short-secret", error.to_string()));
            None
        }
    }
}

fn no_key(block: &Block, form: KeyForm) -> Diagnostic {
    let variable = form.variable;
    let message = format!("model `{}` has no key: the environment variable `{variable}` is not set", block.name);
    let help = format!(
        "set `{variable}`, or name another variable (`api_key: ${{MY_KEY}}`), or the address of another service (`base_url`)"
    );
    block.problem("", "credentials", message).help(help)
}
