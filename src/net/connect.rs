//! Making connections: how long each may take, and whether a request got a new one or one that was waiting in the pool.
//!
//! A pooled connection may be closed by the server just when it is used again. Only on such a connection is a request that broke
//! before any answer worth repeating at once; so it matters which kind it had.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tower_layer::Layer;
use tower_service::Service;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

tokio::task_local! {
    static WATCH: Watch;
}

struct Watch {
    limit: Duration,
    connected: Arc<AtomicBool>,
}

/// Whether the connection of a request was made for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Connection {
    New,
    Reused,
}

/// Connecting took longer than the call allows.
#[derive(Debug, thiserror::Error)]
#[error("no connection within {} s", .0.as_secs_f64())]
pub(super) struct ConnectTimeout(pub(super) Duration);

/// Runs `request` with at most `limit` for connecting.
pub(super) async fn watched<F: Future>(limit: Duration, request: F) -> (F::Output, Connection) {
    let connected = Arc::new(AtomicBool::new(false));
    let watch = Watch { limit, connected: Arc::clone(&connected) };
    let output = WATCH.scope(watch, request).await;
    let connection = if connected.load(Ordering::Relaxed) { Connection::New } else { Connection::Reused };
    (output, connection)
}

/// Puts [`Watched`] around the client's connector.
#[derive(Clone, Debug)]
pub(super) struct WatchLayer;

impl<S> Layer<S> for WatchLayer {
    type Service = Watched<S>;

    fn layer(&self, inner: S) -> Watched<S> {
        Watched(inner)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Watched<S>(S);

impl<S, R> Service<R> for Watched<S>
where
    S: Service<R, Error = BoxError>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: R) -> Self::Future {
        let limit = WATCH.try_with(|watch| watch.limit).ok();
        let connecting = self.0.call(request);
        Box::pin(async move {
            let connected = match limit {
                Some(limit) => tokio::time::timeout(limit, connecting).await.map_err(|_| ConnectTimeout(limit))??,
                None => connecting.await?,
            };
            // A connection that is finished in the background, because another became free first, is not this request's.
            let _ = WATCH.try_with(|watch| watch.connected.store(true, Ordering::Relaxed));
            Ok(connected)
        })
    }
}
