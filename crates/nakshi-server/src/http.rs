//! The HTTP address: metrics for Prometheus, and statements in Cypher.

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::{get, post};

use crate::query_api::query;
use crate::served::Served;

/// Type of the text of metrics.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The pages.
pub(crate) fn pages(served: Arc<Served>) -> Router {
    let limit = DefaultBodyLimit::max(served.limits.request_bytes);
    let query = post(query).layer(limit);
    Router::new()
        .route("/metrics", get(metrics))
        .route("/db/{name}/query/v2", query)
        .with_state(served)
}

async fn metrics(State(served): State<Arc<Served>>) -> impl IntoResponse {
    ([(CONTENT_TYPE, OPEN_METRICS)], served.metrics_text())
}
