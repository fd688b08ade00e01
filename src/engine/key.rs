//! What identifies a call: everything that decides what it answers, and nothing else.

use crate::net::{Call, Request};
use crate::store::CallKey;

/// Digest of the whole request without credentials, the endpoint, the dialect and the trial. A changed credential alone is the same call.
pub(super) fn key_of(call: &Call) -> [u8; 32] {
    digest(call, Here::Yes)
}

/// The same without the folder that a program runs in, which is the suite's wherever it lies, and without the application's version: for
/// cassettes, which travel and say what the version of their day answered.
pub(super) fn portable_key_of(call: &Call) -> CallKey {
    CallKey(digest(call, Here::No))
}

/// Whether what is true of this checkout alone counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Here {
    Yes,
    No,
}

fn digest(call: &Call, here: Here) -> [u8; 32] {
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
            part(if request.worker { b"worker".as_slice() } else { b"command" });
            part(&(request.argv.len() as u64).to_le_bytes());
            for argument in &request.argv {
                part(argument.as_bytes());
            }
            for (name, value) in &request.environment {
                part(name.as_bytes());
                part(value.as_bytes());
            }
            if here == Here::Yes {
                part(request.folder.as_os_str().as_encoded_bytes());
            }
            part(&request.stdin);
        }
    }
    if let (Here::Yes, Some(version)) = (here, &call.version) {
        part(b"version");
        part(version.as_bytes());
    }
    *hasher.finalize().as_bytes()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::time::Duration;

    use bytes::Bytes;
    use proptest::prelude::*;

    use super::*;
    use crate::domain::{EndpointLimits, Secret};
    use crate::net::{CommandRequest, Deadlines, Dialect, Expected, HttpRequest, Purpose, Route};

    fn pairs() -> impl Strategy<Value = Vec<(String, String)>> {
        proptest::collection::vec(("[a-z-]{1,8}", "[ -~]{0,8}"), 0..4)
    }

    prop_compose! {
        fn http()(method in 0..3_usize, url in "[a-z:/?=]{0,12}", headers in pairs(), body: Vec<u8>) -> Request {
            let method = [http::Method::GET, http::Method::POST, http::Method::PUT][method].clone();
            Request::Http(HttpRequest { method, url, headers, credentials: Vec::new(), body: Bytes::from(body) })
        }
    }

    prop_compose! {
        fn program()(
            argv in proptest::collection::vec("[ -~]{0,6}", 1..4), stdin: Vec<u8>, environment in pairs(), folder in "[a-z/]{0,8}",
        ) -> Request {
            let (stdin, folder) = (Bytes::from(stdin), PathBuf::from(folder));
            Request::Command(CommandRequest { argv, stdin, environment, credentials: Vec::new(), folder, worker: false })
        }
    }

    prop_compose! {
        fn call()(request in prop_oneof![http(), program()], endpoint in "[ -~]{0,12}", trial: u32, redirects: bool) -> Call {
            let second = Duration::from_secs(1);
            Call {
                request,
                endpoint: endpoint.into(),
                purpose: Purpose::Judge,
                dialect: Dialect::OpenAi,
                deadlines: Deadlines { connect: second, whole: second },
                trial,
                version: None,
                redirects,
                what: "a test".to_owned(),
                limits: EndpointLimits::default(),
                expected: Expected::default(),
                route: Route::Direct,
            }
        }
    }

    /// Calls that differ from `call` in one thing that matters. Every field is named: a new one does not compile until it is placed.
    fn changed(call: &Call) -> Vec<(String, Call)> {
        let mut all = Vec::new();
        let Call {
            request,
            endpoint,
            purpose: _,
            dialect: _,
            deadlines: _,
            trial,
            version: _,
            redirects,
            what: _,
            limits: _,
            expected: _,
            route: _,
        } = call;
        let mut add = |name: &str, change: &dyn Fn(&mut Call)| {
            let mut other = call.clone();
            change(&mut other);
            all.push((name.to_owned(), other));
        };
        add("endpoint", &|other| other.endpoint = format!("{endpoint}2").into());
        add("version", &|other| other.version = Some("4f2a".into()));
        add("purpose", &|other| other.purpose = Purpose::Target);
        add("purpose", &|other| other.purpose = Purpose::Embedding);
        for dialect in [
            Dialect::Plain,
            Dialect::Raw,
            Dialect::AzureOpenAi,
            Dialect::Anthropic,
            Dialect::Gemini,
            Dialect::DashScope,
        ] {
            add("dialect", &|other| other.dialect = dialect);
        }
        add("trial", &|other| other.trial = trial.wrapping_add(1));
        add("redirects", &|other| other.redirects = !redirects);
        let mut with = |name: &str, request: Request| add(name, &|other| other.request = request.clone());
        match request {
            Request::Http(request) => {
                let HttpRequest { method: _, url, headers, credentials: _, body } = request;
                with("method", Request::Http(HttpRequest { method: http::Method::PATCH, ..request.clone() }));
                with("url", Request::Http(HttpRequest { url: format!("{url}x"), ..request.clone() }));
                with("body", Request::Http(HttpRequest { body: longer(body), ..request.clone() }));
                for headers in edited(headers) {
                    with("headers", Request::Http(HttpRequest { headers, ..request.clone() }));
                }
            }
            Request::Command(request) => {
                let CommandRequest { argv, stdin, environment, credentials: _, folder, worker } = request;
                with("worker", Request::Command(CommandRequest { worker: !worker, ..request.clone() }));
                with("stdin", Request::Command(CommandRequest { stdin: longer(stdin), ..request.clone() }));
                with("folder", Request::Command(CommandRequest { folder: folder.join("x"), ..request.clone() }));
                for at in 0..=argv.len() {
                    let mut argv = argv.clone();
                    match argv.get_mut(at) {
                        Some(argument) => argument.push('x'),
                        None => argv.push(String::new()),
                    }
                    with("argv", Request::Command(CommandRequest { argv, ..request.clone() }));
                }
                for environment in edited(environment) {
                    with("environment", Request::Command(CommandRequest { environment, ..request.clone() }));
                }
            }
        }
        all
    }

    fn longer(bytes: &Bytes) -> Bytes {
        Bytes::from([bytes.as_ref(), b"x"].concat())
    }

    /// One name, one value, one pair more, one pair less; and the first letter of a value moved into its name.
    fn edited(pairs: &[(String, String)]) -> Vec<Vec<(String, String)>> {
        let mut all = vec![[pairs, &[(String::new(), String::new())][..]].concat()];
        for at in 0..pairs.len() {
            let mut edit = |change: &dyn Fn(&mut (String, String))| {
                let mut pairs = pairs.to_vec();
                change(&mut pairs[at]);
                all.push(pairs);
            };
            edit(&|pair| pair.0.push('x'));
            edit(&|pair| pair.1.push('x'));
            if pairs[at].1.is_ascii() && !pairs[at].1.is_empty() {
                edit(&|(name, value)| name.push(value.remove(0)));
            }
            let mut fewer = pairs.to_vec();
            fewer.remove(at);
            all.push(fewer);
        }
        all
    }

    proptest! {
        /// R20: any single changed part of a request is another call.
        #[test]
        fn another_part_is_another_key(call in call()) {
            let key = key_of(&call);
            for (name, other) in changed(&call) {
                prop_assert_ne!(key, key_of(&other), "{} does not count", name);
            }
        }

        #[test]
        fn credentials_words_and_deadlines_are_not_in_the_key(call in call(), value in "[a-zA-Z0-9]{8,20}") {
            let mut other = call.clone();
            let credentials = vec![("authorization".to_owned(), Secret::new("KEY", value).unwrap())];
            match &mut other.request {
                Request::Http(request) => request.credentials = credentials,
                Request::Command(request) => request.credentials = credentials,
            }
            other.what.push_str(" of another case");
            other.deadlines.whole = Duration::from_secs(9);
            prop_assert_eq!(key_of(&call), key_of(&other));
        }

        /// No two different calls meet, whatever is in them.
        #[test]
        fn different_calls_have_different_keys(one in call(), two in call()) {
            let same = format!("{:?}", (&one.request, &one.endpoint, one.trial, one.redirects))
                == format!("{:?}", (&two.request, &two.endpoint, two.trial, two.redirects));
            prop_assert_eq!(key_of(&one) == key_of(&two), same);
        }
    }

    /// Keys are on people's disks: another way to make them would pay for everything again.
    #[test]
    fn the_key_of_a_known_call_stays() {
        let request = HttpRequest {
            method: http::Method::POST,
            url: "https://api.example.com/v1/chat".to_owned(),
            headers: vec![("content-type".to_owned(), "application/json".to_owned())],
            credentials: Vec::new(),
            body: Bytes::from_static(b"{}"),
        };
        let second = Duration::from_secs(1);
        let call = Call {
            request: Request::Http(request),
            endpoint: "m at https://api.example.com (openai)".into(),
            purpose: Purpose::Judge,
            dialect: Dialect::OpenAi,
            deadlines: Deadlines { connect: second, whole: second },
            trial: 0,
            version: None,
            redirects: false,
            what: String::new(),
            limits: EndpointLimits::default(),
            expected: Expected::default(),
            route: Route::Direct,
        };
        let hex: String = key_of(&call).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, "463d27a16969123c3b5c882e2ac52aa1cda8f43a31261efe1f5e127f3f8dfc1b");
    }
}
