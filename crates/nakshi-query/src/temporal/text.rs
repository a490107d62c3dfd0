//! Dates, times and durations as text in ISO 8601.

use std::fmt;

use chrono::{Datelike, NaiveDate, NaiveTime, Timelike};

use super::NANOS;
use super::duration::Duration;
use super::zone::{DateTime, Time, Zone};

/// A date as text.
pub(crate) fn date_text(date: NaiveDate) -> String {
    let (year, month, day) = (date.year(), date.month(), date.day());
    match year {
        0..=9999 => format!("{year:04}-{month:02}-{day:02}"),
        _ => format!("{year:+05}-{month:02}-{day:02}"),
    }
}

/// A time of day as text, without seconds and fractions that are zero.
pub(crate) fn time_text(time: NaiveTime) -> String {
    let mut text = format!("{:02}:{:02}", time.hour(), time.minute());
    if time.second() != 0 || time.nanosecond() != 0 {
        text += &format!(":{:02}", time.second());
    }
    text + &fraction(time.nanosecond().into())
}

/// A fraction of a second with its point; nothing for 0.
fn fraction(nanos: i64) -> String {
    match nanos {
        0 => String::new(),
        nanos => format!(".{:09}", nanos.abs()).trim_end_matches('0').to_owned(),
    }
}

/// A distance from UTC as text.
pub(crate) fn offset_text(seconds: i32) -> String {
    if seconds == 0 {
        return "Z".to_owned();
    }
    let (sign, rest) = (if seconds < 0 { '-' } else { '+' }, seconds.unsigned_abs());
    let mut text = format!("{sign}{:02}:{:02}", rest / 3600, rest / 60 % 60);
    if !rest.is_multiple_of(60) {
        text += &format!(":{:02}", rest % 60);
    }
    text
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", time_text(self.time), offset_text(self.offset))
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Zone::Offset(seconds) => f.write_str(&offset_text(*seconds)),
            Zone::Named(tz) => f.write_str(tz.name()),
        }
    }
}

impl fmt::Display for DateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (date, time) = (date_text(self.local().date()), time_text(self.local().time()));
        write!(f, "{date}T{time}{}", offset_text(self.offset()))?;
        match self.zone() {
            Zone::Offset(_) => Ok(()),
            Zone::Named(tz) => write!(f, "[{}]", tz.name()),
        }
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::from("P");
        let mut part = |count: i64, unit: char| {
            if count != 0 {
                text += &format!("{count}{unit}");
            }
        };
        part(self.months / 12, 'Y');
        part(self.months % 12, 'M');
        part(self.days, 'D');
        let (mut seconds, mut nanos) = (self.seconds, i64::from(self.nanos));
        if seconds < 0 && nanos != 0 {
            (seconds, nanos) = (seconds + 1, nanos - NANOS);
        }
        if seconds != 0 || nanos != 0 {
            text.push('T');
            for (length, unit) in [(3600, 'H'), (60, 'M')] {
                if seconds / length != 0 {
                    text += &format!("{}{unit}", seconds / length);
                }
                seconds %= length;
            }
            if seconds != 0 || nanos != 0 {
                let sign = if seconds == 0 && nanos < 0 { "-" } else { "" };
                text += &format!("{sign}{seconds}{}S", fraction(nanos));
            }
        }
        f.write_str(if text == "P" { "PT0S" } else { &text })
    }
}
