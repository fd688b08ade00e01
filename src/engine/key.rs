//! What identifies a call: everything that decides what it answers, and nothing else.

use crate::net::{Call, Request};
use crate::store::CallKey;

/// Digest of the whole request without credentials, the endpoint, the dialect and the trial. A changed credential alone is the same call.
pub(super) fn key_of(call: &Call) -> [u8; 32] {
    digest(call, true)
}

/// The same without the folder that a program runs in, which is the suite's wherever it lies: for cassettes, which travel.
pub(super) fn portable_key_of(call: &Call) -> CallKey {
    CallKey(digest(call, false))
}

fn digest(call: &Call, with_folder: bool) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("scoregate call key v1");
    let mut part = |bytes: &[u8]| {
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    part(call.endpoint.as_bytes());
    part(&call.trial.to_le_bytes());
    part(format!("{:?} {:?} {}", call.purpose, call.dialect, call.redirects).as_bytes());
    match &call.request {
        Request::Http(request) => {
            part(b"http");
            part(request.method.as_str().as_bytes());
            part(request.url.as_bytes());
            for (name, value) in &request.headers {
                part(name.as_bytes());
                part(value.as_bytes());
            }
            part(&request.body);
        }
        Request::Command(request) => {
            part(b"command");
            part(&(request.argv.len() as u64).to_le_bytes());
            for argument in &request.argv {
                part(argument.as_bytes());
            }
            for (name, value) in &request.environment {
                part(name.as_bytes());
                part(value.as_bytes());
            }
            if with_folder {
                part(request.folder.to_string_lossy().as_bytes());
            }
            part(&request.stdin);
        }
    }
    *hasher.finalize().as_bytes()
}
