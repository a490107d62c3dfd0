//! Dates, times and durations from maps, texts and other values.

use std::sync::Arc;

use chrono::{DateTime as Utc, Datelike, NaiveDate, NaiveTime, Timelike, Weekday};

use super::entry::{Entry, lenient, strict};
use crate::error::{Class, QueryError, Result};
use crate::temporal::{
    Between, DateTime, Duration, Moment, Time, Zone, day_of_quarter, parse_date, parse_datetime,
    parse_duration, parse_time, parse_zone,
};
use crate::value::{Map, Value};
use crate::view::View;

pub(super) static FUNCTIONS: &[Entry] = &[
    lenient("date", 0..=1, |view, values| make(view, values, Kind::Date)),
    lenient("localtime", 0..=1, |view, values| make(view, values, Kind::LocalTime)),
    lenient("time", 0..=1, |view, values| make(view, values, Kind::Time)),
    lenient("localdatetime", 0..=1, |view, values| make(view, values, Kind::LocalDateTime)),
    lenient("datetime", 0..=1, |view, values| make(view, values, Kind::DateTime)),
    lenient("date.transaction", 0..=1, |view, values| clock(view, values, Kind::Date)),
    lenient("date.statement", 0..=1, |view, values| clock(view, values, Kind::Date)),
    lenient("date.realtime", 0..=1, |view, values| clock(view, values, Kind::Date)),
    lenient("localtime.transaction", 0..=1, |view, values| clock(view, values, Kind::LocalTime)),
    lenient("localtime.statement", 0..=1, |view, values| clock(view, values, Kind::LocalTime)),
    lenient("localtime.realtime", 0..=1, |view, values| clock(view, values, Kind::LocalTime)),
    lenient("time.transaction", 0..=1, |view, values| clock(view, values, Kind::Time)),
    lenient("time.statement", 0..=1, |view, values| clock(view, values, Kind::Time)),
    lenient("time.realtime", 0..=1, |view, values| clock(view, values, Kind::Time)),
    lenient("localdatetime.transaction", 0..=1, |view, values| {
        clock(view, values, Kind::LocalDateTime)
    }),
    lenient("localdatetime.statement", 0..=1, |view, values| {
        clock(view, values, Kind::LocalDateTime)
    }),
    lenient("localdatetime.realtime", 0..=1, |view, values| {
        clock(view, values, Kind::LocalDateTime)
    }),
    lenient("datetime.transaction", 0..=1, |view, values| clock(view, values, Kind::DateTime)),
    lenient("datetime.statement", 0..=1, |view, values| clock(view, values, Kind::DateTime)),
    lenient("datetime.realtime", 0..=1, |view, values| clock(view, values, Kind::DateTime)),
    strict("datetime.fromepoch", 2..=2, |_, values| from_epoch(values)),
    strict("datetime.fromepochmillis", 1..=1, |_, values| from_epoch(values)),
    strict("duration", 1..=1, |_, values| duration(values)),
    strict("duration.between", 2..=2, |_, values| between(values, Between::All)),
    strict("duration.inmonths", 2..=2, |_, values| between(values, Between::Months)),
    strict("duration.indays", 2..=2, |_, values| between(values, Between::Days)),
    strict("duration.inseconds", 2..=2, |_, values| between(values, Between::Seconds)),
];

/// A type of dates and times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Date,
    LocalTime,
    Time,
    LocalDateTime,
    DateTime,
}

impl Kind {
    fn has_date(self) -> bool {
        matches!(self, Kind::Date | Kind::LocalDateTime | Kind::DateTime)
    }

    fn has_time(self) -> bool {
        self != Kind::Date
    }

    fn has_zone(self) -> bool {
        matches!(self, Kind::Time | Kind::DateTime)
    }

    fn name(self) -> &'static str {
        match self {
            Kind::Date => "date",
            Kind::LocalTime => "localtime",
            Kind::Time => "time",
            Kind::LocalDateTime => "localdatetime",
            Kind::DateTime => "datetime",
        }
    }
}

/// Date, time and zone, as far as a value has them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Parts {
    pub(super) date: Option<NaiveDate>,
    pub(super) time: Option<NaiveTime>,
    pub(super) zone: Option<Zone>,
}

impl Parts {
    pub(super) fn of(value: &Value) -> Option<Self> {
        let (date, time, zone) = match value {
            Value::Date(date) => (Some(*date), None, None),
            Value::LocalTime(time) => (None, Some(*time), None),
            Value::Time(time) => (None, Some(time.time), Some(Zone::Offset(time.offset))),
            Value::LocalDateTime(at) => (Some(at.date()), Some(at.time()), None),
            Value::DateTime(at) => {
                (Some(at.local().date()), Some(at.local().time()), Some(at.zone()))
            }
            _ => return None,
        };
        Some(Parts { date, time, zone })
    }

    /// The value of a type, whose missing parts are the first date, midnight and UTC.
    pub(super) fn value(self, kind: Kind) -> Option<Value> {
        let date = self.date.unwrap_or_default();
        let time = self.time.unwrap_or_default();
        let zone = self.zone.unwrap_or(Zone::UTC);
        Some(match kind {
            Kind::Date => Value::Date(date),
            Kind::LocalTime => Value::LocalTime(time),
            Kind::Time => {
                let offset = match zone {
                    Zone::Offset(seconds) => seconds,
                    Zone::Named(_) => DateTime::at(date.and_time(time), zone)?.offset(),
                };
                Value::Time(Time { time, offset })
            }
            Kind::LocalDateTime => Value::LocalDateTime(date.and_time(time)),
            Kind::DateTime => Value::DateTime(DateTime::at(date.and_time(time), zone)?),
        })
    }

    /// The same point in time by the clock of another zone.
    fn in_zone(self, zone: Zone) -> Self {
        let (Some(time), Some(own)) = (self.time, self.zone) else {
            return Parts { zone: Some(zone), ..self };
        };
        let moved = DateTime::at(self.date.unwrap_or_default().and_time(time), own);
        match moved.and_then(|at| DateTime::of_utc(at.utc(), zone)) {
            Some(at) => {
                let date = self.date.map(|_| at.local().date());
                Parts { date, time: Some(at.local().time()), zone: Some(zone) }
            }
            None => self,
        }
    }
}

pub(super) fn wrong(kind: &str, what: &str) -> QueryError {
    QueryError::of_argument(format!("there is no {kind} of {what}"))
}

/// The present time of a clock.
fn clock(view: &View, values: &[Value], kind: Kind) -> Result<Value> {
    let zone = match values {
        [] => Zone::UTC,
        [Value::String(name)] => zone_of(name)?,
        [Value::Map(map)] => zone_in(map)?.unwrap_or(Zone::UTC),
        _ => return Ok(Value::Null),
    };
    let at = DateTime::of_utc(view.now, zone).ok_or_else(|| wrong(kind.name(), "now"))?;
    let local = at.local();
    let parts = Parts { date: Some(local.date()), time: Some(local.time()), zone: Some(zone) };
    parts.value(kind).ok_or_else(|| wrong(kind.name(), "now"))
}

fn make(view: &View, values: &[Value], kind: Kind) -> Result<Value> {
    let [value] = values else { return clock(view, values, kind) };
    let parts = match value {
        Value::Null => return Ok(Value::Null),
        Value::String(text) => {
            parse(text, kind).ok_or_else(|| wrong(kind.name(), &format!("'{text}'")))?
        }
        Value::Map(map) if map.keys().all(|name| **name == *"timezone") => {
            return clock(view, values, kind);
        }
        Value::Map(map) => of_map(map, kind)?,
        other => Parts::of(other).ok_or_else(|| {
            QueryError::of_type(format!(
                "{}() does not take a value of type {}",
                kind.name(),
                other.type_name()
            ))
        })?,
    };
    if kind.has_date() != parts.date.is_some() && kind.has_date() {
        return Err(wrong(kind.name(), &format!("{value}, which has no date")));
    }
    parts.value(kind).ok_or_else(|| wrong(kind.name(), &value.to_string()))
}

fn parse(text: &str, kind: Kind) -> Option<Parts> {
    Some(match kind {
        Kind::Date => Parts { date: Some(parse_date(text)?), ..Parts::default() },
        Kind::LocalTime | Kind::Time => {
            let (time, zone) = parse_time(text)?;
            Parts { time: Some(time), zone, ..Parts::default() }
        }
        Kind::LocalDateTime | Kind::DateTime => {
            let (at, zone) = parse_datetime(text)?;
            Parts { date: Some(at.date()), time: Some(at.time()), zone }
        }
    })
}

fn zone_of(name: &str) -> Result<Zone> {
    parse_zone(name).ok_or_else(|| QueryError::of_argument(format!("'{name}' is no time zone")))
}

fn zone_in(map: &Map) -> Result<Option<Zone>> {
    match map.get("timezone") {
        Some(Value::String(name)) => zone_of(name).map(Some),
        _ => Ok(None),
    }
}

/// An integer of a map.
pub(super) fn int(map: &Map, name: &str) -> Result<Option<i64>> {
    match map.get(name) {
        None => Ok(None),
        Some(Value::Int(value)) => Ok(Some(*value)),
        Some(other) => {
            Err(QueryError::of_type(format!("{name} must be an integer, and {other} is none")))
        }
    }
}

/// Date, time and zone of a map, which may name values that have some of them.
fn of_map(map: &Map, kind: Kind) -> Result<Parts> {
    let mut base = Parts::default();
    for (name, date, time) in
        [("datetime", true, true), ("date", true, false), ("time", false, true)]
    {
        let Some(value) = map.get(name) else { continue };
        let found = Parts::of(value).ok_or_else(|| {
            QueryError::of_type(format!("{name} must be a date or time, and {value} is none"))
        })?;
        if date {
            base.date = Some(found.date.ok_or_else(|| wrong(kind.name(), &format!("{value}")))?);
        }
        if time {
            base.time = Some(found.time.ok_or_else(|| wrong(kind.name(), &format!("{value}")))?);
            base.zone = found.zone;
        }
    }
    if let Some(seconds) = int(map, "epochSeconds")? {
        base = of_epoch(seconds, int(map, "nanosecond")?.unwrap_or_default())?;
    } else if let Some(millis) = int(map, "epochMillis")? {
        base = of_epoch(millis.div_euclid(1000), millis.rem_euclid(1000) * 1_000_000)?;
    }
    if kind.has_date() {
        base.date = Some(date_of(map, base.date)?);
    }
    if let Some(zone) = zone_in(map)? {
        base = match kind.has_zone() {
            true => base.in_zone(zone),
            false => Parts { zone: Some(zone), ..base },
        };
    }
    if kind.has_time() {
        base.time = Some(time_of_map(map, base.time)?);
    }
    Ok(base)
}

fn of_epoch(seconds: i64, nanos: i64) -> Result<Parts> {
    let nanos = u32::try_from(nanos).ok().filter(|nanos| *nanos < 1_000_000_000);
    let at = nanos.and_then(|nanos| Utc::from_timestamp(seconds, nanos));
    let at = at.ok_or_else(|| wrong("datetime", "these seconds"))?.naive_utc();
    Ok(Parts { date: Some(at.date()), time: Some(at.time()), zone: Some(Zone::UTC) })
}

fn from_epoch(values: &[Value]) -> Result<Value> {
    let parts = match values {
        [Value::Int(seconds), Value::Int(nanos)] => of_epoch(*seconds, *nanos)?,
        [Value::Int(millis)] => {
            of_epoch(millis.div_euclid(1000), millis.rem_euclid(1000) * 1_000_000)?
        }
        _ => return Err(QueryError::of_type("seconds and nanoseconds are integers")),
    };
    parts.value(Kind::DateTime).ok_or_else(|| wrong("datetime", "these seconds"))
}

/// The date of a map's fields; those that are missing come from `base`, or are the first.
pub(super) fn date_of(map: &Map, base: Option<NaiveDate>) -> Result<NaiveDate> {
    let field = |name: &str, of_base: Option<u32>| -> Result<u32> {
        match int(map, name)? {
            Some(value) => {
                u32::try_from(value).map_err(|_| wrong("date", &format!("{name} {value}")))
            }
            None => Ok(of_base.unwrap_or(1)),
        }
    };
    let year = |of_base: Option<i32>| -> Result<i32> {
        match int(map, "year")? {
            Some(year) => i32::try_from(year).map_err(|_| wrong("date", &format!("year {year}"))),
            None => of_base.ok_or_else(|| wrong("date", "a map without a year")),
        }
    };
    let has = |name: &str| map.contains_key(name);
    let date = if has("week") || has("dayOfWeek") {
        let week = field("week", base.map(|date| date.iso_week().week()))?;
        let day = field("dayOfWeek", base.map(|date| date.weekday().number_from_monday()))?;
        let day =
            u8::try_from(day.wrapping_sub(1)).ok().and_then(|day| Weekday::try_from(day).ok());
        let year = year(base.map(|date| date.iso_week().year()))?;
        day.and_then(|day| NaiveDate::from_isoywd_opt(year, week, day))
    } else if has("quarter") || has("dayOfQuarter") {
        let quarter = field("quarter", base.map(|date| date.month0() / 3 + 1))?;
        let day = field("dayOfQuarter", base.map(quarter_day))?;
        let year = year(base.map(|date| date.year()))?;
        (1..=4).contains(&quarter).then(|| day_of_quarter(year, quarter, day)).flatten()
    } else if has("ordinalDay") {
        let day = field("ordinalDay", None)?;
        NaiveDate::from_yo_opt(year(base.map(|date| date.year()))?, day)
    } else {
        let month = field("month", base.map(|date| date.month()))?;
        let day = field("day", base.map(|date| date.day()))?;
        NaiveDate::from_ymd_opt(year(base.map(|date| date.year()))?, month, day)
    };
    date.ok_or_else(|| wrong("date", &Value::of_map(map.clone()).to_string()))
}

/// Day of the quarter, from 1 on.
pub(super) fn quarter_day(date: NaiveDate) -> u32 {
    let first = NaiveDate::from_ymd_opt(date.year(), date.month0() / 3 * 3 + 1, 1);
    first.map_or(1, |first| date.ordinal() - first.ordinal() + 1)
}

/// The time of a map's fields; those that are missing come from `base`, or are 0.
pub(super) fn time_of_map(map: &Map, base: Option<NaiveTime>) -> Result<NaiveTime> {
    let base = base.unwrap_or_default();
    let field = |name: &str, of_base: u32| -> Result<u32> {
        match int(map, name)? {
            Some(value) => {
                u32::try_from(value).map_err(|_| wrong("time", &format!("{name} {value}")))
            }
            None => Ok(of_base),
        }
    };
    let parts = ["millisecond", "microsecond", "nanosecond"];
    let nanos = match parts.iter().any(|name| map.contains_key(*name)) {
        true => {
            let [millis, micros, nanos] = parts.map(|name| field(name, 0));
            let (millis, micros, nanos) = (millis?, micros?, nanos?);
            let all = u64::from(millis) * 1_000_000 + u64::from(micros) * 1000 + u64::from(nanos);
            u32::try_from(all).ok().filter(|all| *all < 1_000_000_000)
        }
        false => Some(base.nanosecond()),
    };
    let (hour, minute) = (field("hour", base.hour())?, field("minute", base.minute())?);
    let second = field("second", base.second())?;
    let time = nanos.and_then(|nanos| NaiveTime::from_hms_nano_opt(hour, minute, second, nanos));
    time.ok_or_else(|| wrong("time", &Value::of_map(map.clone()).to_string()))
}

fn duration(values: &[Value]) -> Result<Value> {
    let found = match values {
        [Value::String(text)] => parse_duration(text),
        [Value::Map(map)] => duration_of(map)?,
        [Value::Duration(duration)] => Some(**duration),
        _ => return Err(QueryError::of_type("duration() takes a map or a text")),
    };
    match (found, values.first()) {
        (Some(found), _) => Ok(Value::Duration(Arc::new(found))),
        (None, value) => Err(wrong("duration", &value.map_or_else(String::new, Value::to_string))),
    }
}

fn duration_of(map: &Map) -> Result<Option<Duration>> {
    const UNITS: [&str; 11] = [
        "years",
        "quarters",
        "months",
        "weeks",
        "days",
        "hours",
        "minutes",
        "seconds",
        "milliseconds",
        "microseconds",
        "nanoseconds",
    ];
    if let Some(name) = map.keys().find(|name| !UNITS.contains(&&***name)) {
        return Err(wrong("duration", &format!("'{name}'")));
    }
    let mut amounts = [0.0; 11];
    // Whole numbers stay exact where no fraction is given.
    let mut whole = Some([0_i64; 11]);
    for (i, name) in UNITS.iter().enumerate() {
        let amount = match map.get(*name) {
            None => continue,
            Some(Value::Int(value)) => {
                if let Some(place) = whole.as_mut().and_then(|whole| whole.get_mut(i)) {
                    *place = *value;
                }
                *value as f64
            }
            Some(Value::Float(value)) => {
                whole = None;
                *value
            }
            Some(other) => {
                return Err(QueryError::of_type(format!("{name} must be a number, not {other}")));
            }
        };
        if let Some(place) = amounts.get_mut(i) {
            *place = amount;
        }
    }
    if let Some([years, quarters, months, weeks, days, hours, minutes, seconds, ms, us, ns]) = whole
    {
        let exact = || {
            let months = years
                .checked_mul(12)?
                .checked_add(quarters.checked_mul(3)?)?
                .checked_add(months)?;
            let days = weeks.checked_mul(7)?.checked_add(days)?;
            let of_hours = hours.checked_mul(3600)?.checked_add(minutes.checked_mul(60)?)?;
            let of_parts =
                (ms / 1000).checked_add(us / 1_000_000)?.checked_add(ns / 1_000_000_000)?;
            let seconds = of_hours.checked_add(seconds)?.checked_add(of_parts)?;
            let nanos = ms % 1000 * 1_000_000 + us % 1_000_000 * 1000 + ns % 1_000_000_000;
            Duration::of(months, days, seconds, nanos)
        };
        return Ok(exact());
    }
    let [years, quarters, months, weeks, days, hours, minutes, seconds, ms, us, ns] = amounts;
    Ok(Duration::approximate(
        years * 12.0 + quarters * 3.0 + months,
        weeks * 7.0 + days,
        hours * 3600.0 + minutes * 60.0 + seconds,
        ms * 1e6 + us * 1e3 + ns,
    ))
}

fn between(values: &[Value], measure: Between) -> Result<Value> {
    let moment = |value: &Value| {
        let parts = Parts::of(value).ok_or_else(|| {
            let message = format!("a distance in time is between dates and times, not {value}");
            QueryError::run(Class::Type, "InvalidArgumentType", message)
        })?;
        Ok::<_, QueryError>(Moment { date: parts.date, time: parts.time, zone: parts.zone })
    };
    let [from, to] = values else { return Ok(Value::Null) };
    let found = moment(from)?.until(&moment(to)?, measure);
    let found = found.ok_or_else(|| wrong("duration", &format!("{from} and {to}")))?;
    Ok(Value::Duration(Arc::new(found)))
}
