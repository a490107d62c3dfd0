//! Dates, times and durations as integers, and as text in ISO 8601.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Microseconds of a second, and of a day.
const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;
/// Days from the first of January of the year 1 to that of 1970.
const EPOCH: i128 = 719_162;
/// Days of a year before each month.
const BEFORE: [i64; 13] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365];

/// Kind of a date, time or duration. Each value is an integer of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Temporal {
    /// A day: days since 1970-01-01.
    Date,
    /// Date and time of day without a time zone: microseconds since 1970-01-01 00:00.
    LocalDateTime,
    /// An instant: microseconds since 1970-01-01 00:00 UTC. The zone that it was written in is not kept.
    DateTime,
    /// Time of day without a time zone: microseconds since midnight.
    Time,
    /// A length of time in microseconds.
    Duration,
}

impl Temporal {
    /// All kinds.
    pub const ALL: [Temporal; 5] = [
        Temporal::Date,
        Temporal::LocalDateTime,
        Temporal::DateTime,
        Temporal::Time,
        Temporal::Duration,
    ];

    /// Name of the type in headers, as Neo4j has it.
    pub fn name(self) -> &'static str {
        match self {
            Temporal::Date => "date",
            Temporal::LocalDateTime => "localdatetime",
            Temporal::DateTime => "datetime",
            Temporal::Time => "time",
            Temporal::Duration => "duration",
        }
    }

    /// Whether an integer stands for a value: a date of 32 bits, a time within a day.
    pub fn holds(self, value: i64) -> bool {
        match self {
            Temporal::Date => i32::try_from(value).is_ok(),
            Temporal::Time => (0..DAY).contains(&value),
            _ => true,
        }
    }

    /// The value of a text such as `2001-02-03T04:05:06.789+01:00`, `04:05` or `P1DT2H`. An instant
    /// without a zone is in UTC; a whole number counts milliseconds since 1970.
    ///
    /// # Errors
    /// Why the text stands for none.
    pub fn parse(self, text: &str) -> Result<i64, String> {
        let misfit = || format!("'{text}' is no {}", self.name());
        let trimmed = text.trim();
        let is_instant = matches!(self, Temporal::LocalDateTime | Temporal::DateTime);
        if is_instant && let Ok(milliseconds) = trimmed.parse::<i64>() {
            return milliseconds.checked_mul(1000).ok_or_else(misfit);
        }
        let value = match self {
            Temporal::Date => date(trimmed).and_then(|days| i64::try_from(days).ok()),
            Temporal::Time => clock(trimmed)?,
            Temporal::Duration => return duration(trimmed).map_err(|why| misfit() + why),
            Temporal::LocalDateTime => instant(trimmed, false)?,
            Temporal::DateTime => instant(trimmed, true)?,
        };
        value.filter(|value| self.holds(*value)).ok_or_else(misfit)
    }

    /// The value as text, which [`Temporal::parse`] reads back.
    pub fn text(self, value: i64) -> String {
        let (days, of_day) = (value.div_euclid(DAY), value.rem_euclid(DAY));
        match self {
            Temporal::Date => date_text(value),
            Temporal::LocalDateTime => format!("{}T{}", date_text(days), clock_text(of_day)),
            Temporal::DateTime => format!("{}T{}Z", date_text(days), clock_text(of_day)),
            Temporal::Time => clock_text(of_day),
            Temporal::Duration => duration_text(value),
        }
    }
}

impl fmt::Display for Temporal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

fn leap(year: i128) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Days from the first of January of the year 1 to that of `year`.
fn days_before(year: i128) -> i128 {
    let past = year - 1;
    365 * past + past.div_euclid(4) - past.div_euclid(100) + past.div_euclid(400)
}

/// Days of a year before a month, 1 for January.
fn before_month(month: usize, leap: bool) -> i128 {
    let days = BEFORE.get(month - 1).copied().unwrap_or(0);
    i128::from(days) + i128::from(leap && month > 2)
}

/// Decimal digits alone.
fn digits(text: &str) -> Option<i64> {
    let all = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if all { text.parse().ok() } else { None }
}

/// Days since 1970 of a text such as `2001-02-03`; a year of more or less than four digits has a sign.
fn date(text: &str) -> Option<i128> {
    let (sign, rest) = match text.as_bytes().first()? {
        b'-' => (-1, text.get(1..)?),
        b'+' => (1, text.get(1..)?),
        _ => (1, text),
    };
    let mut parts = rest.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let signed = rest.len() < text.len();
    if parts.next().is_some() || year.len() < 4 || (year.len() > 4 && !signed) || year.len() > 8 {
        return None;
    }
    if (month.len(), day.len()) != (2, 2) {
        return None;
    }
    let year = sign * i128::from(digits(year)?);
    let (month, day) = (usize::try_from(digits(month)?).ok()?, i128::from(digits(day)?));
    if !(1..=12).contains(&month) {
        return None;
    }
    let first = before_month(month, leap(year));
    let length = before_month(month + 1, leap(year)) - first;
    let within = (1..=length).contains(&day);
    within.then(|| days_before(year) + first + day - 1 - EPOCH)
}

fn date_text(days: i64) -> String {
    let days = i128::from(days) + EPOCH;
    let mut year = (days * 400).div_euclid(146_097) + 1;
    while days_before(year) > days {
        year -= 1;
    }
    while days_before(year + 1) <= days {
        year += 1;
    }
    let of_year = days - days_before(year);
    let month = (1..=12).rev().find(|month| before_month(*month, leap(year)) <= of_year);
    let month = month.unwrap_or(1);
    let day = of_year - before_month(month, leap(year)) + 1;
    let sign = match year {
        ..0 => "-",
        10_000.. => "+",
        _ => "",
    };
    format!("{sign}{:04}-{month:02}-{day:02}", year.unsigned_abs())
}

/// Microseconds since midnight of a text such as `04:05:06.789`; nothing if it is none.
///
/// # Errors
/// More digits than microseconds have.
fn clock(text: &str) -> Result<Option<i64>, String> {
    let mut parts = text.split(':');
    let two = |part: Option<&str>| part.filter(|part| part.len() == 2).and_then(digits);
    let (Some(hours), Some(minutes)) = (two(parts.next()), two(parts.next())) else {
        return Ok(None);
    };
    let (mut seconds, mut micros) = (0, 0);
    if let Some(part) = parts.next() {
        let (whole, fraction) = part.split_once('.').unwrap_or((part, "0"));
        let Some(found) = two(Some(whole)) else { return Ok(None) };
        seconds = found;
        let Some(found) = fraction_of(fraction)? else { return Ok(None) };
        micros = found;
    }
    if parts.next().is_some() || hours > 23 || minutes > 59 || seconds > 59 {
        return Ok(None);
    }
    Ok(Some(((hours * 60 + minutes) * 60 + seconds) * SECOND + micros))
}

/// Microseconds of the digits behind a point.
fn fraction_of(text: &str) -> Result<Option<i64>, String> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(None);
    }
    let (kept, rest) = text.split_at(text.len().min(6));
    if rest.bytes().any(|digit| digit != b'0') {
        return Err(format!(
            "'.{text}' has nanoseconds, which are not kept; round to microseconds"
        ));
    }
    Ok(digits(&format!("{kept:0<6}")))
}

fn clock_text(micros: i64) -> String {
    let (seconds, rest) = (micros / SECOND, micros % SECOND);
    let text = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    if rest == 0 { text } else { format!("{text}.{rest:06}").trim_end_matches('0').to_owned() }
}

/// Microseconds since 1970 of a date with a time of day, which is midnight if it is left out.
fn instant(text: &str, zoned: bool) -> Result<Option<i64>, String> {
    let (day, rest) = text.split_once(['T', 't', ' ']).unwrap_or((text, "00:00"));
    let Some(days) = date(day) else { return Ok(None) };
    let (time, offset) = match rest.find(['Z', 'z', '+', '-']) {
        Some(_) if !zoned => {
            return Err(format!(
                "'{text}' has a time zone, which a localdatetime has not; use datetime"
            ));
        }
        Some(at) => rest.split_at(at),
        None => (rest, "Z"),
    };
    let (Some(time), Some(offset)) = (clock(time.trim_end())?, offset_of(offset)) else {
        return Ok(None);
    };
    let micros = days * i128::from(DAY) + i128::from(time) - i128::from(offset);
    Ok(i64::try_from(micros).ok())
}

/// Microseconds that a zone such as `+01:00` is ahead of UTC.
fn offset_of(text: &str) -> Option<i64> {
    let sign = match text.as_bytes().first()? {
        b'Z' | b'z' => return (text.len() == 1).then_some(0),
        b'-' => -1,
        _ => 1,
    };
    let rest = text.get(1..)?.replace(':', "");
    let (hours, minutes) = match rest.len() {
        2 => (digits(&rest)?, 0),
        4 => (digits(rest.get(..2)?)?, digits(rest.get(2..)?)?),
        _ => return None,
    };
    let known = hours <= 18 && minutes <= 59;
    known.then_some(sign * (hours * 60 + minutes) * 60 * SECOND)
}

/// Microseconds of a text such as `P1DT2H3M4.5S`.
fn duration(text: &str) -> Result<i64, &'static str> {
    let bad = "; write it like P1DT2H3M4.5S";
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text),
    };
    let rest = rest.strip_prefix(['P', 'p']).ok_or(bad)?;
    let (days, time) = rest.split_once(['T', 't']).unwrap_or((rest, ""));
    if (days.is_empty() && time.is_empty()) || (rest.len() > days.len() && time.is_empty()) {
        return Err(bad);
    }
    let (mut total, mut number) = (0_i128, String::new());
    for (part, of_day) in [(days, false), (time, true)] {
        for letter in part.chars() {
            let unit = match (letter.to_ascii_uppercase(), of_day) {
                ('0'..='9' | '.', _) => {
                    number.push(letter);
                    continue;
                }
                ('Y' | 'M', false) => {
                    return Err(": years and months have no fixed length; give days");
                }
                ('W', false) => 7 * DAY,
                ('D', false) => DAY,
                ('H', true) => 3600 * SECOND,
                ('M', true) => 60 * SECOND,
                ('S', true) => SECOND,
                _ => return Err(bad),
            };
            let (whole, fraction) = number.split_once('.').unwrap_or((&number, "0"));
            if number.contains('.') && unit != SECOND {
                return Err(bad);
            }
            let micros = fraction_of(fraction).map_err(|_| " of microseconds; round it")?;
            let whole = digits(whole).ok_or(bad)?;
            total += i128::from(whole) * i128::from(unit) + i128::from(micros.ok_or(bad)?);
            number.clear();
        }
        if !number.is_empty() {
            return Err(bad);
        }
    }
    i64::try_from(sign * total).map_err(|_| ": it is too long")
}

fn duration_text(micros: i64) -> String {
    let (day, second) = (DAY.unsigned_abs(), SECOND.unsigned_abs());
    let whole = micros.unsigned_abs();
    let (days, rest) = (whole / day, whole % day);
    let (seconds, fraction) = (rest / second, rest % second);
    let mut text = String::from(if micros < 0 { "-P" } else { "P" });
    if days > 0 {
        text.push_str(&format!("{days}D"));
    }
    if rest > 0 || days == 0 {
        text.push('T');
    }
    for (count, unit) in [(seconds / 3600, 'H'), (seconds / 60 % 60, 'M')] {
        if count > 0 {
            text.push_str(&format!("{count}{unit}"));
        }
    }
    let seconds = seconds % 60;
    if fraction > 0 {
        let digits = format!("{fraction:06}");
        text.push_str(&format!("{seconds}.{}S", digits.trim_end_matches('0')));
    } else if seconds > 0 || whole == 0 {
        text.push_str(&format!("{seconds}S"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn texts_and_values() {
        use Temporal::{Date, DateTime, Duration, LocalDateTime, Time};
        for (kind, text, value) in [
            (Date, "1970-01-01", 0),
            (Date, "1969-12-31", -1),
            (Date, "2000-02-29", 11_016),
            (Date, "0001-01-01", -719_162),
            (Date, "9999-12-31", 2_932_896),
            (Date, "-0001-12-31", -719_529),
            (LocalDateTime, "1970-01-01T00:00:01.5", 1_500_000),
            (DateTime, "1970-01-01T00:00:00Z", 0),
            (DateTime, "1969-12-31T23:59:59.999999Z", -1),
            (Time, "23:59:59.000001", DAY - SECOND + 1),
            (Duration, "P1DT0.000003S", DAY + 3),
            (Duration, "-PT1H2M3S", -3723 * SECOND),
            (Duration, "PT0S", 0),
        ] {
            assert_eq!(kind.parse(text), Ok(value), "{text}");
            assert_eq!(kind.text(value), text);
        }
        for (text, value) in [
            ("1970-01-01 01:00+01:00", 0),
            ("1970-01-01T00:00-0130", 5400 * SECOND),
            ("1970-01-02", DAY),
            ("1970-01-01T00:00:00.1230000000Z", 123_000),
        ] {
            assert_eq!(DateTime.parse(text), Ok(value), "{text}");
        }
        assert_eq!(Duration.parse("P2W"), Ok(14 * DAY));
    }

    #[test]
    fn texts_that_are_none() {
        use Temporal::{Date, DateTime, Duration, LocalDateTime, Time};
        let cases: [(_, _, &[&str]); 6] = [
            (Date, "no date", &["2001-02-29", "2001-2-3", "11", "+99999999-01-01"]),
            (Time, "no time", &["24:00", "12:00:00Z"]),
            (LocalDateTime, "zone", &["2001-01-01T00:00Z"]),
            (DateTime, "nanoseconds", &["2001-01-01T00:00:00.0000001"]),
            (Duration, "months", &["P1M"]),
            (Duration, "like", &["P", "P1DT", "PT1.5H"]),
        ];
        for (kind, mention, texts) in cases {
            for text in texts {
                let error = kind.parse(text).unwrap_err();
                assert!(error.contains(mention), "{text}: {error}");
            }
        }
    }

    proptest! {
        #[test]
        fn values_survive_their_text(value in any::<i64>(), shift in 0..64_u32) {
            for kind in Temporal::ALL {
                let value = value >> shift;
                if kind.holds(value) {
                    prop_assert_eq!(kind.parse(&kind.text(value)), Ok(value), "{}", kind.text(value));
                }
            }
        }

        #[test]
        fn any_text_parses_or_does_not(text in "[-+PTZ0-9:.DHMS ]{0,24}") {
            for kind in Temporal::ALL {
                let _ = kind.parse(&text);
            }
        }
    }
}
