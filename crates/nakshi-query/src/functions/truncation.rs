//! Dates and times that are cut off at a unit.

use std::sync::Arc;

use chrono::{Datelike, Days, NaiveDate, NaiveTime, Timelike};

use super::entry::{Entry, strict};
use super::temporal::{Kind, Parts, date_of, time_of_map, wrong};
use crate::error::{QueryError, Result};
use crate::temporal::Zone;
use crate::value::{Map, Value};
use crate::view::View;

pub(super) static FUNCTIONS: &[Entry] = &[
    strict("date.truncate", 1..=3, |_: &View, values| truncate(values, Kind::Date)),
    strict("localtime.truncate", 1..=3, |_, values| truncate(values, Kind::LocalTime)),
    strict("time.truncate", 1..=3, |_, values| truncate(values, Kind::Time)),
    strict("localdatetime.truncate", 1..=3, |_, values| truncate(values, Kind::LocalDateTime)),
    strict("datetime.truncate", 1..=3, |_, values| truncate(values, Kind::DateTime)),
];

fn truncate(values: &[Value], kind: Kind) -> Result<Value> {
    let (unit, value, fields) = match values {
        [Value::String(unit), value] => (unit, value, Map::new()),
        [Value::String(unit), value, Value::Map(fields)] => (unit, value, Map::clone(fields)),
        _ => return Err(QueryError::of_type("truncate() takes a unit, a date or time, and a map")),
    };
    let mut parts = Parts::of(value)
        .ok_or_else(|| QueryError::of_type(format!("{value} is no date and no time")))?;
    let unknown = || wrong("truncation", &format!("{value} to {unit}"));
    let unit = unit.to_lowercase();
    let of_date =
        !matches!(unit.as_str(), "hour" | "minute" | "second" | "millisecond" | "microsecond");
    if of_date && unit != "day" && parts.date.is_none() {
        return Err(unknown());
    }
    parts.date = match parts.date {
        Some(date) if of_date => Some(truncated_date(date, &unit).ok_or_else(unknown)?),
        other => other,
    };
    let time = parts.time.unwrap_or_default();
    parts.time = Some(match of_date {
        true => NaiveTime::MIN,
        false => truncated_time(time, &unit).ok_or_else(unknown)?,
    });
    if let Some(Value::String(zone)) = fields.get("timezone") {
        let zone = crate::temporal::parse_zone(zone);
        parts.zone = Some(zone.ok_or_else(|| QueryError::of_argument("it is no time zone"))?);
    }
    let fields = with_kept_parts(fields, &unit, parts.time.unwrap_or_default());
    if parts.date.is_some() {
        parts.date = Some(date_of(&fields, parts.date)?);
    }
    parts.time = Some(time_of_map(&fields, parts.time)?);
    parts.zone = parts.zone.or(Some(Zone::UTC));
    parts.value(kind).ok_or_else(unknown)
}

/// The fields with the parts of a second that the truncation leaves, which smaller fields would replace.
fn with_kept_parts(mut fields: Map, unit: &str, time: NaiveTime) -> Map {
    let nanos = time.nanosecond();
    let kept: &[(&str, u32)] = match unit {
        "millisecond" => &[("millisecond", nanos / 1_000_000)],
        "microsecond" => {
            &[("millisecond", nanos / 1_000_000), ("microsecond", nanos / 1000 % 1000)]
        }
        _ => &[],
    };
    if ["microsecond", "nanosecond"].iter().any(|name| fields.contains_key(*name)) {
        for (name, value) in kept {
            fields.entry(Arc::from(*name)).or_insert(Value::Int((*value).into()));
        }
    }
    fields
}

fn truncated_date(date: NaiveDate, unit: &str) -> Option<NaiveDate> {
    let year = |length: i32| NaiveDate::from_ymd_opt(date.year().div_euclid(length) * length, 1, 1);
    let back = |days: u32| date.checked_sub_days(Days::new(days.into()));
    match unit {
        "millennium" => year(1000),
        "century" => year(100),
        "decade" => year(10),
        "year" => year(1),
        "weekyear" => NaiveDate::from_isoywd_opt(date.iso_week().year(), 1, chrono::Weekday::Mon),
        "quarter" => NaiveDate::from_ymd_opt(date.year(), date.month0() / 3 * 3 + 1, 1),
        "month" => date.with_day(1),
        "week" => back(date.weekday().num_days_from_monday()),
        "day" => Some(date),
        _ => None,
    }
}

fn truncated_time(time: NaiveTime, unit: &str) -> Option<NaiveTime> {
    let (hour, minute, second) = (time.hour(), time.minute(), time.second());
    let nanos = time.nanosecond();
    match unit {
        "hour" => NaiveTime::from_hms_opt(hour, 0, 0),
        "minute" => NaiveTime::from_hms_opt(hour, minute, 0),
        "second" => NaiveTime::from_hms_opt(hour, minute, second),
        "millisecond" => {
            NaiveTime::from_hms_nano_opt(hour, minute, second, nanos / 1_000_000 * 1_000_000)
        }
        "microsecond" => NaiveTime::from_hms_nano_opt(hour, minute, second, nanos / 1000 * 1000),
        _ => None,
    }
}
