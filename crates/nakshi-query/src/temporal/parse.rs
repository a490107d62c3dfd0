//! Dates, times and durations from text in ISO 8601.

use chrono::{Datelike, NaiveDate, NaiveDateTime, NaiveTime, Weekday};

use super::duration::Duration;
use super::zone::Zone;

/// A text that is read from its beginning.
struct Reader<'t> {
    rest: &'t str,
}

impl<'t> Reader<'t> {
    fn take(&mut self, prefix: char) -> bool {
        match self.rest.strip_prefix(prefix) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Number of digits at the beginning.
    fn digits(&self) -> usize {
        self.rest.bytes().take_while(u8::is_ascii_digit).count()
    }

    /// The number of the next `count` digits.
    fn number(&mut self, count: usize) -> Option<u32> {
        let digits = self.rest.get(..count)?;
        if count == 0 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        self.rest = self.rest.get(count..)?;
        digits.parse().ok()
    }

    fn end<T>(&self, value: T) -> Option<T> {
        self.rest.is_empty().then_some(value)
    }
}

/// The date of a text.
pub(crate) fn parse_date(text: &str) -> Option<NaiveDate> {
    let mut from = Reader { rest: text };
    let sign = if from.take('-') { Some(-1) } else { from.take('+').then_some(1) };
    let run = from.digits();
    let dashed = from.rest.get(run..)?.starts_with('-');
    let width = match sign {
        Some(_) if dashed || run == from.rest.len() => run,
        _ => 4,
    };
    let year = i32::try_from(from.number(width)?).ok()? * sign.unwrap_or(1);
    if from.rest.is_empty() {
        return NaiveDate::from_ymd_opt(year, 1, 1);
    }
    let dashed = from.take('-');
    if from.take('W') {
        let week = from.number(2)?;
        let dash = from.take('-');
        let day = match from.rest {
            "" if !dash => 1,
            _ if dash == dashed => from.number(1)?,
            _ => return None,
        };
        let day = Weekday::try_from(u8::try_from(day.checked_sub(1)?).ok()?).ok()?;
        return from.end(NaiveDate::from_isoywd_opt(year, week, day)?);
    }
    if from.take('Q') {
        let quarter = from.number(1).filter(|quarter| (1..=4).contains(quarter))?;
        let dash = from.take('-');
        let day = match from.rest {
            "" if !dash => 1,
            _ if dash == dashed => from.number(2)?,
            _ => return None,
        };
        return from.end(day_of_quarter(year, quarter, day)?);
    }
    let rest = from.digits();
    if rest == 3 && rest == from.rest.len() {
        let day = from.number(3)?;
        return NaiveDate::from_yo_opt(year, day);
    }
    let month = from.number(2)?;
    if from.rest.is_empty() {
        return NaiveDate::from_ymd_opt(year, month, 1);
    }
    if dashed != from.take('-') {
        return None;
    }
    let day = from.number(2)?;
    from.end(NaiveDate::from_ymd_opt(year, month, day)?)
}

/// The date of a day of a quarter, both counted from 1.
pub(crate) fn day_of_quarter(year: i32, quarter: u32, day: u32) -> Option<NaiveDate> {
    let first = NaiveDate::from_ymd_opt(year, quarter.checked_sub(1)? * 3 + 1, 1)?;
    let date = first.checked_add_days(chrono::Days::new(day.checked_sub(1)?.into()))?;
    (date.year() == year && date.month0() / 3 + 1 == quarter).then_some(date)
}

/// The time of a text, and its zone if it names one.
pub(crate) fn parse_time(text: &str) -> Option<(NaiveTime, Option<Zone>)> {
    let zone_at = text.find(['Z', '+', '-', '[']).unwrap_or(text.len());
    let (clock, zone) = text.split_at_checked(zone_at)?;
    let mut from = Reader { rest: clock };
    let hour = from.number(2)?;
    let colons = from.take(':');
    let (mut minute, mut second, mut nanos) = (0, 0, 0);
    if !from.rest.is_empty() || colons {
        minute = from.number(2)?;
        let more = if colons { from.take(':') } else { !from.rest.is_empty() };
        if more {
            second = from.number(2)?;
            if from.take('.') || from.take(',') {
                nanos = fraction_nanos(from.rest)?;
                from.rest = "";
            }
        }
    }
    let time = NaiveTime::from_hms_nano_opt(hour, minute, second, nanos)?;
    let zone = if zone.is_empty() { None } else { Some(parse_zone(zone)?) };
    from.end((time, zone))
}

/// Nanoseconds of the digits behind a point.
fn fraction_nanos(digits: &str) -> Option<u32> {
    if digits.is_empty() || digits.len() > 9 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    format!("{digits:0<9}").parse().ok()
}

/// The zone of a text: `Z`, a distance, a name, or a distance with a name in brackets.
pub(crate) fn parse_zone(text: &str) -> Option<Zone> {
    if let Some((offset, name)) = text.split_once('[') {
        if !offset.is_empty() {
            parse_offset(offset)?;
        }
        return Some(Zone::Named(named(name.strip_suffix(']')?)?));
    }
    parse_offset(text).map(Zone::Offset).or_else(|| named(text).map(Zone::Named))
}

fn named(name: &str) -> Option<chrono_tz::Tz> {
    name.replace(' ', "_").parse().ok()
}

fn parse_offset(text: &str) -> Option<i32> {
    if text.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let mut from = Reader { rest: text };
    let sign = if from.take('-') { -1 } else { from.take('+').then_some(1)? };
    let mut seconds = i32::try_from(from.number(2)?).ok()? * 3600;
    for unit in [60, 1] {
        let colon = from.take(':');
        if !from.rest.is_empty() || colon {
            seconds += i32::try_from(from.number(2)?).ok()? * unit;
        }
    }
    from.end(sign * seconds).filter(|seconds| seconds.abs() <= 18 * 3600)
}

/// The date, time and zone of a text.
pub(crate) fn parse_datetime(text: &str) -> Option<(NaiveDateTime, Option<Zone>)> {
    match text.split_once('T') {
        Some((date, time)) => {
            let (time, zone) = parse_time(time)?;
            Some((parse_date(date)?.and_time(time), zone))
        }
        None => Some((parse_date(text)?.and_time(NaiveTime::MIN), None)),
    }
}

/// The duration of a text: of numbers with units, or of a date and a time.
pub(crate) fn parse_duration(text: &str) -> Option<Duration> {
    let (sign, text) = match text.strip_prefix('-') {
        Some(text) => (-1.0, text),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    let text = text.strip_prefix('P').filter(|text| !text.is_empty())?;
    let (date, time) = match text.split_once('T') {
        Some((_, "")) => return None,
        Some((date, time)) => (date, time),
        None => (text, ""),
    };
    if let Some(duration) = of_date(date, time) {
        return if sign < 0.0 { duration.negated() } else { Some(duration) };
    }
    let [years, months, weeks, days] = amounts(date, ['Y', 'M', 'W', 'D'])?;
    let [hours, minutes, seconds, nanos] = amounts(time, ['H', 'M', 'S', ' '])?;
    let whole = seconds.trunc();
    // Digits behind the point are exact to the nanosecond.
    let nanos = nanos + ((seconds - whole) * 1e9).round();
    Duration::approximate(
        sign * (years * 12.0 + months),
        sign * (weeks * 7.0 + days),
        sign * (hours * 3600.0 + minutes * 60.0 + whole),
        sign * nanos,
    )
}

/// Amounts of units, which come in their order.
fn amounts(mut text: &str, units: [char; 4]) -> Option<[f64; 4]> {
    let mut found = [0.0; 4];
    let mut next = 0;
    while !text.is_empty() {
        let at = text.find(|c: char| !matches!(c, '0'..='9' | '.' | ',' | '-' | '+'))?;
        let (number, rest) = text.split_at_checked(at)?;
        let unit = rest.chars().next()?;
        let place = units.iter().position(|known| *known == unit).filter(|at| *at >= next)?;
        *found.get_mut(place)? = number.replace(',', ".").parse().ok()?;
        next = place + 1;
        text = rest.get(unit.len_utf8()..)?;
    }
    Some(found)
}

/// The duration of `YYYY-MM-DD` and `HH:MM:SS`, whose parts are counts.
fn of_date(date: &str, time: &str) -> Option<Duration> {
    let mut from = Reader { rest: date };
    let years = from.number(4)?;
    let dashed = from.take('-');
    let months = from.number(2)?;
    if dashed != from.take('-') {
        return None;
    }
    let days = from.number(2)?;
    from.end(())?;
    let time = if time.is_empty() { NaiveTime::MIN } else { parse_time(time)?.0 };
    let nanos = super::zone::nanos_of(time);
    Duration::of(i64::from(years) * 12 + i64::from(months), days.into(), 0, nanos)
}
