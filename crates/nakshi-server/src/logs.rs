//! The lines for the operator of a server, one an event, on standard error.

use std::time::{Duration, Instant};

use tracing::{Level, Metadata};
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::prelude::*;

use crate::error::{Error, ErrorKind};

/// Time from which on a call is told.
const SLOW: Duration = Duration::from_secs(1);

/// Form of the lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// JSON objects, for programs.
    Json,
}

/// Writes the events of this process to standard error from now on; of the libraries, only what goes wrong.
/// The first call in a process counts.
pub fn log_to_stderr(format: LogFormat) {
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_target(false)
        .with_ansi(false);
    let wanted = filter_fn(is_for_operator);
    let all = tracing_subscriber::registry();
    // An error says that there is a subscriber already.
    let _ = match format {
        LogFormat::Text => all.with(lines.with_filter(wanted)).try_init(),
        LogFormat::Json => {
            all.with(lines.json().flatten_event(true).with_filter(wanted)).try_init()
        }
    };
}

/// Returns true for an event that the operator should know of. Openraft warns of every attempt to reach a
/// server that is away, and what it cannot mend ends this server with an error.
fn is_for_operator(event: &Metadata<'_>) -> bool {
    let least = match event.target().split("::").next() {
        Some("openraft") => return false,
        Some(name) if name.starts_with("nakshi") => Level::INFO,
        _ => Level::WARN,
    };
    *event.level() <= least
}

/// Tells of a call that took long, or failed by a fault of this machine.
pub(crate) fn tell<T>(call: &'static str, began: Instant, ended: &Result<T, Error>) {
    let seconds = began.elapsed().as_secs_f64();
    if let Err(error) = ended
        && is_of_server(error.kind)
    {
        let (kind, message) = (error.kind.name(), error.message.as_str());
        tracing::error!(call, seconds, kind, message, "a call failed");
    } else if began.elapsed() >= SLOW && call != "transaction" {
        tracing::warn!(call, seconds, "a call took long");
    }
}

/// Returns true for errors of the machine, which concern the operator as well as the client.
fn is_of_server(kind: ErrorKind) -> bool {
    use ErrorKind as E;
    matches!(kind, E::Poisoned | E::Corrupt | E::Storage | E::Internal)
}
