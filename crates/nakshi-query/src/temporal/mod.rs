//! Dates, times and durations, as openCypher has them, on the calendars of chrono.
//!
//! - `zone` has time zones and the types that carry one
//! - `duration` has durations and the distance of two points in time
//! - `text` writes all of them in ISO 8601, and `parse` reads it

mod duration;
mod parse;
mod text;
mod zone;

pub use duration::Duration;
pub(crate) use duration::{Between, Moment};
pub(crate) use parse::{
    day_of_quarter, parse_date, parse_datetime, parse_duration, parse_time, parse_zone,
};
pub(crate) use text::{date_text, offset_text, time_text};
pub use zone::{DateTime, Time, Zone};
pub(crate) use zone::{nanos_of, time_of};

/// Nanoseconds of a second.
pub(crate) const NANOS: i64 = 1_000_000_000;
/// Seconds of a day.
pub(crate) const DAY: i64 = 86_400;
