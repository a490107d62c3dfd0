//! The fields of dates, times, durations and points, which expressions read like properties.

use std::sync::Arc;

use chrono::{Datelike, NaiveDate, NaiveTime, Timelike};

use super::temporal::quarter_day;
use crate::temporal::{DateTime, Duration, NANOS, Zone, offset_text};
use crate::value::{Point, Value};

/// A field of a value; `None` if the type of the value has no fields.
pub(crate) fn field(value: &Value, name: &str) -> Option<Value> {
    let found = match value {
        Value::Date(date) => of_date(*date, name),
        Value::LocalTime(time) => of_time(*time, name),
        Value::Time(time) => of_time(time.time, name)
            .or_else(|| of_zone(Zone::Offset(time.offset), time.offset, name)),
        Value::LocalDateTime(at) => of_date(at.date(), name).or_else(|| of_time(at.time(), name)),
        Value::DateTime(at) => of_datetime(at, name),
        Value::Duration(duration) => of_duration(duration, name),
        Value::Point(point) => of_point(point, name),
        _ => return None,
    };
    Some(found.unwrap_or_default())
}

fn int(value: impl Into<i64>) -> Option<Value> {
    Some(Value::Int(value.into()))
}

fn of_date(date: NaiveDate, name: &str) -> Option<Value> {
    match name {
        "year" => int(date.year()),
        "quarter" => int(date.month0() / 3 + 1),
        "month" => int(date.month()),
        "week" => int(date.iso_week().week()),
        "weekYear" => int(date.iso_week().year()),
        "day" => int(date.day()),
        "ordinalDay" => int(date.ordinal()),
        "weekDay" | "dayOfWeek" => int(date.weekday().number_from_monday()),
        "dayOfQuarter" => int(quarter_day(date)),
        _ => None,
    }
}

fn of_time(time: NaiveTime, name: &str) -> Option<Value> {
    match name {
        "hour" => int(time.hour()),
        "minute" => int(time.minute()),
        "second" => int(time.second()),
        "millisecond" => int(time.nanosecond() / 1_000_000),
        "microsecond" => int(time.nanosecond() / 1000),
        "nanosecond" => int(time.nanosecond()),
        _ => None,
    }
}

fn of_zone(zone: Zone, offset: i32, name: &str) -> Option<Value> {
    match name {
        "timezone" => Some(Value::text(zone.to_string())),
        "offset" => Some(Value::text(offset_text(offset))),
        "offsetMinutes" => int(offset / 60),
        "offsetSeconds" => int(offset),
        _ => None,
    }
}

fn of_datetime(at: &DateTime, name: &str) -> Option<Value> {
    match name {
        "epochSeconds" => int(at.utc().and_utc().timestamp()),
        "epochMillis" => int(at.utc().and_utc().timestamp_millis()),
        _ => of_date(at.local().date(), name)
            .or_else(|| of_time(at.local().time(), name))
            .or_else(|| of_zone(at.zone(), at.offset(), name)),
    }
}

fn of_duration(duration: &Arc<Duration>, name: &str) -> Option<Value> {
    let (months, days, seconds) = (duration.months, duration.days, duration.seconds);
    let nanos = i64::from(duration.nanos);
    let total = |per_second: i64| {
        seconds
            .checked_mul(per_second)
            .and_then(|all| all.checked_add(nanos / (NANOS / per_second)))
    };
    match name {
        "years" => int(months / 12),
        "quarters" => int(months / 3),
        "months" => int(months),
        "weeks" => int(days / 7),
        "days" => int(days),
        "hours" => int(seconds / 3600),
        "minutes" => int(seconds / 60),
        "seconds" => int(seconds),
        "milliseconds" => int(total(1000)?),
        "microseconds" => int(total(1_000_000)?),
        "nanoseconds" => int(total(NANOS)?),
        "quartersOfYear" => int(months % 12 / 3),
        "monthsOfQuarter" => int(months % 3),
        "monthsOfYear" => int(months % 12),
        "daysOfWeek" => int(days % 7),
        "minutesOfHour" => int(seconds / 60 % 60),
        "secondsOfMinute" => int(seconds % 60),
        "millisecondsOfSecond" => int(nanos / 1_000_000),
        "microsecondsOfSecond" => int(nanos / 1000),
        "nanosecondsOfSecond" => int(nanos),
        _ => None,
    }
}

fn of_point(point: &Point, name: &str) -> Option<Value> {
    let at = |i: usize| point.coordinates.get(i).map(|value| Value::Float(*value));
    match name {
        "x" | "longitude" => at(0),
        "y" | "latitude" => at(1),
        "z" | "height" => at(2),
        "srid" => int(point.srid),
        "crs" => Some(Value::text(match point.srid {
            4326 => "wgs-84",
            4979 => "wgs-84-3d",
            7203 => "cartesian",
            _ => "cartesian-3d",
        })),
        _ => None,
    }
}
