//! Texts → vectors: OpenAI's embeddings call, and every service that speaks it.

use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::credentials::KeyForm;
use super::openai::dialect;
use super::price::Price;
use super::service::{Form, Service, ServiceSettings, given};
use super::{ChatRequest, reply};
use crate::diagnostic::Diagnostics;
use crate::domain::{EndpointLimits, Env, FailureKind, Fingerprint, Secret, Spent, Usage};
use crate::net::{Call, Deadlines, Purpose, Rejection, Response, classify_error_object, first_words};
use crate::suite::{Block, Draft, Period};

/// One call that embeds texts.
#[derive(Clone, Debug)]
pub struct EmbeddingRequest<'a> {
    /// None is empty; at most [`Embedder::batch_size`].
    pub texts: &'a [&'a str],
    /// The run's; a model's own `timeout` goes before.
    pub deadlines: Deadlines,
    /// For messages to people: `similarity of case q17`.
    pub what: String,
}

/// What came back.
#[derive(Clone, Debug, PartialEq)]
pub struct EmbeddingReply {
    /// One a text, in the order of the texts; all of one length, finite.
    pub vectors: Vec<Vec<f64>>,
    pub spent: Spent,
}

/// One dialect's embeddings call.
pub trait EmbeddingApi: Send + Sync {
    fn call(&self, request: &EmbeddingRequest<'_>) -> Call;
    /// # Errors
    /// Anything that is not exactly one vector for each of `count` texts.
    fn read(&self, response: &Response, count: usize) -> Result<EmbeddingReply, Rejection>;
}

/// An embedding model of the suite, ready to use.
#[derive(Clone)]
pub struct Embedder {
    pub name: Arc<str>,
    pub api: Arc<dyn EmbeddingApi>,
    /// Texts in one request at most; at least 1.
    pub batch_size: usize,
    /// Parts `model`, `parameters`, `endpoint`.
    pub fingerprint: Fingerprint,
}

/// A model, and what it knows that must be masked.
pub struct BuiltEmbedder {
    pub embedder: Embedder,
    pub secrets: Vec<Secret>,
}

/// One kind of embedding provider.
pub struct EmbeddingKind {
    /// The word under `provider`.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    pub schema: fn() -> schemars::Schema,
    /// `None` after pushing diagnostics.
    pub build: fn(&Block, &Env, &mut Diagnostics) -> Option<BuiltEmbedder>,
}

pub(super) const OPENAI: EmbeddingKind = EmbeddingKind {
    name: FORM.name,
    summary: "OpenAI's embeddings, or any service with the same call (base_url)",
    schema: || schemars::schema_for!(EmbeddingSettings),
    build,
};

const FORM: Form = Form {
    name: "openai_embeddings",
    base: "https://api.openai.com/v1",
    path: &["/embeddings"],
    key: KeyForm { header: "Authorization", before: "Bearer ", variable: "OPENAI_API_KEY" },
    headers: &[],
    whole_reply: &["encoding_format", "stream"],
    placed: &[("model", ""), ("dimensions", ""), ("input", "the texts are put there")],
    dialect,
    batches: None,
    structured: false,
};

/// Texts in one request where the suite does not say.
const BATCH: usize = 32;

/// An embedding model behind OpenAI's `/embeddings`, or any service compatible with it: what `semantic_similarity` and its like
/// compare texts with. `base_url` is without `/embeddings` (default: https://api.openai.com/v1), and `api_key` defaults to
/// OPENAI_API_KEY.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EmbeddingSettings {
    /// The model's name, as the service knows it.
    #[schemars(length(min = 1))]
    model: String,
    /// Where the service is, when it is not the provider's own.
    base_url: Option<String>,
    /// The key (default: the provider's environment variable, for the provider's own address only).
    api_key: Option<String>,
    /// The length of the vectors, for models that can shorten them; not sent unless it is given.
    dimensions: Option<NonZeroU32>,
    /// Texts in one request (default: 32). Cases share requests.
    #[schemars(range(min = 1, max = 2048))]
    batch_size: Option<NonZeroUsize>,
    /// Time for one attempt (default: the run's).
    timeout: Option<Period>,
    /// Further headers. Values from the environment are treated as credentials.
    headers: Option<std::collections::BTreeMap<String, String>>,
    /// Further parts of the request's body, as the service documents them.
    extra: Option<Map<String, Value>>,
    /// What tokens cost.
    price: Option<EmbeddingPrice>,
    /// What the service takes.
    limits: Option<EndpointLimits>,
}

/// US dollars per million tokens.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EmbeddingPrice {
    /// For tokens that are sent.
    #[schemars(range(min = 0.0))]
    input: f64,
}

struct OpenAiEmbeddings(Service);

fn build(block: &Block, env: &Env, diagnostics: &mut Diagnostics) -> Option<BuiltEmbedder> {
    let Draft { settings, sound } = block.draft::<EmbeddingSettings>(diagnostics)?;
    let parameters = given([("dimensions", settings.dimensions.map(|length| length.get().into()))]);
    let service = ServiceSettings {
        model: settings.model,
        base_url: settings.base_url,
        api_key: settings.api_key,
        // Never sent: a reply of vectors has no tokens of its own, and one is the least that can be reserved for it.
        max_tokens: Some(NonZeroU32::MIN),
        timeout: settings.timeout,
        headers: settings.headers,
        extra: settings.extra,
        structured: None,
        price: settings.price.map(|price| Price::of_input(price.input)),
        mode: None,
        batch: None,
        limits: settings.limits,
    };
    let ready = FORM.ready(block, (service, sound), parameters, env, diagnostics)?;
    let (service, fingerprint, secrets) = ready.parts();
    let embedder = Embedder {
        name: block.name.clone(),
        api: Arc::new(OpenAiEmbeddings(service)),
        batch_size: settings.batch_size.map_or(BATCH, NonZeroUsize::get),
        fingerprint,
    };
    Some(BuiltEmbedder { embedder, secrets })
}

impl EmbeddingApi for OpenAiEmbeddings {
    fn call(&self, request: &EmbeddingRequest<'_>) -> Call {
        let mut body = Map::new();
        body.insert("model".to_owned(), Value::from(self.0.model.as_str()));
        body.insert("input".to_owned(), json!(request.texts));
        body.insert("encoding_format".to_owned(), Value::from("float"));
        body.extend(self.0.parameters.clone());
        let asked = ChatRequest {
            messages: Vec::new(),
            // The same text has the same vector in every trial.
            trial: 0,
            purpose: Purpose::Embedding,
            deadlines: request.deadlines,
            what: request.what.clone(),
            form: None,
        };
        self.0.call(&asked, &Value::Object(body))
    }

    fn read(&self, response: &Response, count: usize) -> Result<EmbeddingReply, Rejection> {
        let address = &self.0.shown;
        let body = reply::json(response, address)?;
        if let Some(rejection) = classify_error_object(&body, self.0.dialect, address) {
            return Err(rejection);
        }
        let prompt_tokens = body.pointer("/usage/prompt_tokens").and_then(Value::as_u64).unwrap_or_default();
        let spent = reply::spent(Usage { prompt_tokens, completion_tokens: 0 }, self.0.price, response);
        match vectors(&body, count) {
            Ok(vectors) => Ok(EmbeddingReply { vectors, spent }),
            Err(why) => {
                let why = format!("{address} answered with no usable vectors: {why}: {}", first_words(&response.body));
                Err(reply::unusable(FailureKind::Malformed, why, None, (&body, spent)))
            }
        }
    }
}

/// One vector for each of `count` texts, wherever it stands in the reply.
fn vectors(body: &Value, count: usize) -> Result<Vec<Vec<f64>>, String> {
    let data = body.get("data").and_then(Value::as_array).ok_or("there is no list `data`")?;
    if data.len() != count {
        return Err(format!("{count} texts were sent, {} vectors came", data.len()));
    }
    let mut vectors: Vec<Option<Vec<f64>>> = vec![None; count];
    for (at, entry) in data.iter().enumerate() {
        let index = match entry.get("index") {
            None => Some(at),
            Some(index) => index.as_u64().and_then(|index| usize::try_from(index).ok()),
        };
        let slot = index.and_then(|index| vectors.get_mut(index)).ok_or("an `index` is none of the texts'")?;
        let numbers = entry.get("embedding").and_then(Value::as_array).ok_or("an `embedding` is no list")?;
        let vector: Option<Vec<f64>> = numbers.iter().map(Value::as_f64).collect();
        let vector = vector.ok_or("an `embedding` holds something else than numbers")?;
        if slot.replace(vector).is_some() {
            return Err("an `index` stands twice".to_owned());
        }
    }
    let vectors: Vec<Vec<f64>> = vectors.into_iter().flatten().collect();
    let length = vectors.first().map_or(0, Vec::len);
    if length == 0 || vectors.len() != count || vectors.iter().any(|vector| vector.len() != length) {
        return Err("the vectors are empty or of different lengths".to_owned());
    }
    Ok(vectors)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::domain::{RetryClass, Usd};
    use crate::net::Request;
    use crate::provider::{Models, build};

    fn models(settings: Value) -> (Models, Vec<String>) {
        let mut diagnostics = Diagnostics::default();
        let block = Block::from_value("embed", "openai_embeddings", settings);
        let env = Env::from_pairs([("OPENAI_API_KEY", "sk-test-key-of-env")]);
        let models = build(&[block], &env, &mut diagnostics);
        (models, diagnostics.iter().map(|found| format!("{}: {}", found.code, found.message)).collect())
    }

    fn embedder(settings: Value) -> Embedder {
        let (mut models, problems) = models(settings);
        assert!(problems.is_empty(), "{problems:?}");
        models.embedders.remove("embed").unwrap()
    }

    fn read(body: &Value, count: usize) -> Result<EmbeddingReply, Rejection> {
        let body = body.to_string().into_bytes().into();
        let response = Response { status: 200, headers: Vec::new(), body, latency: Duration::ZERO };
        embedder(json!({"model": "m", "price": {"input": 0.5}})).api.read(&response, count)
    }

    /// The request's schema in OpenAI's own description.
    #[test]
    fn requests_keep_openai_s_contract() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/contracts/openai/openai-ops.json");
        let mut file: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        file["$defs"]["CompoundFilter"].as_object_mut().unwrap().remove("$recursiveAnchor");
        let operations = file["operations"].as_array().unwrap();
        let operation = operations.iter().find(|operation| operation["id"] == "createEmbedding").unwrap();
        let contract =
            jsonschema::validator_for(&json!({"$defs": file["$defs"], "allOf": [operation["request"]]})).unwrap();
        let embedder = embedder(json!({"model": "text-embedding-3-small", "dimensions": 256}));
        let call = {
            let deadlines = Deadlines { connect: Duration::from_secs(1), whole: Duration::from_secs(1) };
            let what = "similarity of case q1".to_owned();
            embedder.api.call(&EmbeddingRequest { texts: &["one", "two\n"], deadlines, what })
        };
        let Request::Http(http) = &call.request else { panic!("HTTP") };
        assert_eq!(http.url, "https://api.openai.com/v1/embeddings");
        assert_eq!((call.trial, call.purpose, embedder.batch_size), (0, Purpose::Embedding, 32));
        let body: Value = serde_json::from_slice(&http.body).unwrap();
        assert_eq!(body["input"], json!(["one", "two\n"]));
        let errors: Vec<String> = contract.iter_errors(&body).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?}");
    }

    #[test]
    fn vectors_are_put_in_the_order_of_the_texts_and_paid_for() {
        let body = json!({"data": [{"index": 1, "embedding": [0.0, 1.0]}, {"index": 0, "embedding": [1, 0.5]}],
            "usage": {"prompt_tokens": 2_000_000, "total_tokens": 2_000_000}});
        let reply = read(&body, 2).unwrap();
        assert_eq!(reply.vectors, [vec![1.0, 0.5], vec![0.0, 1.0]]);
        assert_eq!((reply.spent.usage.prompt_tokens, reply.spent.cost), (2_000_000, Some(Usd(1.0))));
    }

    #[test]
    fn what_is_not_one_vector_a_text_is_rejected() {
        let entry = |index: i64, vector: Value| json!({"index": index, "embedding": vector});
        for (data, count) in [
            (json!([entry(0, json!([1.0]))]), 2),
            (json!([entry(0, json!([1.0])), entry(0, json!([1.0]))]), 2),
            (json!([entry(0, json!([1.0])), entry(7, json!([1.0]))]), 2),
            (json!([entry(0, json!([1.0])), entry(1, json!([1.0, 2.0]))]), 2),
            (json!([entry(0, json!([]))]), 1),
            (json!([entry(0, json!([1.0, "x"]))]), 1),
            (json!([entry(0, json!("AAAA"))]), 1),
            (json!({}), 1),
        ] {
            let rejection = read(&json!({ "data": data }), count).unwrap_err();
            assert_eq!((rejection.kind, rejection.class), (FailureKind::Malformed, RetryClass::Unusable), "{data}");
        }
    }

    #[test]
    fn settings_of_chat_models_are_refused() {
        let (models, problems) = models(json!({"model": "m", "temperature": 0}));
        assert!(models.embedders.is_empty());
        assert!(problems.iter().any(|problem| problem.contains("temperature")), "{problems:?}");
    }
}
