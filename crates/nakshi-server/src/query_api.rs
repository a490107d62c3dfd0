//! Statements over HTTP, as Neo4j's Query API has them: `POST /db/neo4j/query/v2`.
//!
//! <https://neo4j.com/docs/query-api/current/>. An answer is one JSON object with all rows, of which there may
//! be as many as the server's limit says.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{ConnectInfo, Path, State};
use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use nakshi_io::CancelToken;
use nakshi_query::{Map, Options, Value};
use serde::Deserialize;
use serde_json::{Value as JsonValue, json};

use crate::failure::{DATABASE, Failure, bookmark};
use crate::journal::Watched;
use crate::login::{Credentials, log_in};
use crate::running::Shown;
use crate::served::Served;

/// Rows that are asked of a result at once.
const BATCH: usize = 1024;

/// Request of a client.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Asked {
    statement: String,
    #[serde(default)]
    parameters: serde_json::Map<String, JsonValue>,
    #[serde(default)]
    include_counters: bool,
    #[serde(default)]
    access_mode: Option<String>,
}

/// Cancels a statement whose client has gone: the future of its answer is dropped then.
struct Guard(CancelToken);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Runs a statement.
pub(crate) async fn query(
    State(served): State<Arc<Served>>,
    Path(name): Path<String>,
    ConnectInfo(client): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    asked: Result<Json<Asked>, JsonRejection>,
) -> Response {
    let from = (Some(client), "http", String::new());
    let asker = match log_in(&served, credentials(&headers), from).await {
        Ok(asker) => asker,
        Err(failure) => return refuse(StatusCode::UNAUTHORIZED, &failure),
    };
    if name != DATABASE {
        return refuse(StatusCode::NOT_FOUND, &Failure::no_database(&name));
    }
    let asked = match asked {
        Ok(Json(asked)) => asked,
        Err(error) => return refuse(error.status(), &Failure::invalid(error.body_text())),
    };
    let Ok(place) = Arc::clone(&served.calls).try_acquire_owned() else {
        let failure = Failure::overloaded(&served.limits);
        return refuse(StatusCode::SERVICE_UNAVAILABLE, &failure);
    };
    let shown = served.running.show(&asker, Map::new(), &served.cancel);
    let guard = Guard(shown.cancel().child());
    let cancel = guard.0.clone();
    let ran = tokio::task::spawn_blocking(move || {
        let _place = place;
        run(&served, &shown, asked, cancel)
    });
    match ran.await {
        Ok(Ok(found)) => (StatusCode::ACCEPTED, Json(found)).into_response(),
        Ok(Err(failure)) => refuse(StatusCode::BAD_REQUEST, &failure),
        Err(_) => refuse(StatusCode::INTERNAL_SERVER_ERROR, &Failure::internal()),
    }
}

fn refuse(status: StatusCode, failure: &Failure) -> Response {
    let error = json!({"code": failure.code, "message": failure.message});
    (status, Json(json!({"errors": [error]}))).into_response()
}

/// The credentials of the header: a user with a password, or a token.
fn credentials(headers: &HeaderMap) -> Credentials {
    let header = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    match header.and_then(|header| header.split_once(' ')) {
        Some(("Bearer", token)) => Credentials::Token(token.to_owned()),
        Some(("Basic", encoded)) => {
            let decoded = BASE64_STANDARD.decode(encoded).unwrap_or_default();
            match String::from_utf8_lossy(&decoded).split_once(':') {
                Some((name, password)) => {
                    Credentials::User { name: name.to_owned(), password: password.to_owned() }
                }
                None => Credentials::None,
            }
        }
        _ => Credentials::None,
    }
}

/// Runs a statement to its end, and tells of that.
fn run(
    served: &Served,
    shown: &Shown,
    mut asked: Asked,
    cancel: CancelToken,
) -> Result<JsonValue, Failure> {
    served.refuse_without_all()?;
    let given = std::mem::take(&mut asked.parameters).into_iter();
    let given: Map = given.map(|(name, value)| (name.into(), Value::of_json(value))).collect();
    let text = Arc::<str>::from(asked.statement.as_str());
    let mut watched = served.watch(shown, &text, &given)?;
    let ran = answer(served, shown, &asked, given, cancel, &mut watched);
    match ran {
        Ok(found) => {
            watched.end(None);
            Ok(found)
        }
        Err(failure) => {
            let failure = if shown.is_terminated() { Failure::terminated() } else { failure };
            failure.tell(&mut watched);
            Err(failure)
        }
    }
}

/// The answer to a statement.
fn answer(
    served: &Served,
    shown: &Shown,
    asked: &Asked,
    given: Map,
    cancel: CancelToken,
    watched: &mut Watched,
) -> Result<JsonValue, Failure> {
    let mode = asked.access_mode.as_ref();
    let reads = mode.is_some_and(|mode| mode.eq_ignore_ascii_case("read"));
    let refusal = match served.may_write(shown.asker().identity.role) {
        Ok(()) => reads.then(Failure::reads_only),
        Err(error) => Some(error.into()),
    };
    let options = Options {
        cancel,
        deadline: Instant::now().checked_add(served.limits.time),
        memory: Some(served.limits.statement_bytes),
        read_only: refusal.is_some(),
        user: shown.asker().user(),
        ..Options::default()
    };
    let ran = watched.work(|| served.database.run(&asked.statement, given, &options));
    let mut cursor = ran.map_err(|error| match refusal {
        Some(refusal) if error.is_read_only() => refusal,
        _ => error.into(),
    })?;
    watched.ran();
    let fields: Vec<String> = cursor.columns().iter().map(ToString::to_string).collect();
    let (mut values, mut weight) = (Vec::<JsonValue>::new(), 0_u64);
    loop {
        let rows = watched.work(|| cursor.next(BATCH))?;
        if rows.is_empty() {
            break;
        }
        values.extend(
            rows.iter().map(|row| JsonValue::Array(row.iter().map(Value::to_json).collect())),
        );
        watched.add_rows(rows.len());
        served.limits.refuse_rows(values.len() as u64)?;
        weight += rows.iter().flatten().map(Value::weight).sum::<u64>();
        served.limits.refuse_bytes(weight)?;
    }
    let bookmark = bookmark(served.database.snapshot().commit());
    let mut found = json!({"data": {"fields": fields, "values": values}, "bookmarks": [bookmark]});
    if asked.include_counters {
        let counters = cursor.summary().counters;
        let named = counters.named().into_iter().map(|(name, count)| (camel(name), json!(count)));
        let changed = ("containsUpdates".to_owned(), json!(counters.changed()));
        found["counters"] = named.chain([changed]).collect::<serde_json::Map<_, _>>().into();
    }
    Ok(found)
}

/// A name whose words follow `_`, with capitals instead.
fn camel(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |mut found, word| {
        let mut letters = word.chars();
        found.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        found.push_str(letters.as_str());
        found
    })
}
