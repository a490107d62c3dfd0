//! The HTTP address: metrics for Prometheus.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;

use crate::service::Served;

/// Type of the text of metrics.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The pages.
pub(crate) fn pages(served: Arc<Served>) -> Router {
    Router::new().route("/metrics", get(metrics)).with_state(served)
}

async fn metrics(State(served): State<Arc<Served>>) -> impl IntoResponse {
    ([(CONTENT_TYPE, OPEN_METRICS)], served.metrics_text())
}
