//! Times that are written as text, as RFC 3339 has them and a little more freely.

/// Milliseconds of a day.
const DAY: i64 = 86_400_000;

/// Milliseconds since 1970-01-01 00:00 UTC of a date, `2024-02-29`, or of a date and a time:
/// `2024-02-29T12:30:00.5Z`, with `T` or a blank between them, with or without a fraction of a second,
/// as `12:30:00` or `123000`, and with a distance from UTC such as `+05:30`, `-0800` or `+02`, which may
/// stand behind a blank. Without one the time is that of UTC. Parts of a millisecond are rounded down.
pub(super) fn milliseconds(text: &str) -> Option<i64> {
    let (date, rest) = text.as_bytes().split_at_checked(10)?;
    let start = DAY * days(date)?;
    let Some((separator, rest)) = rest.split_first() else { return Some(start) };
    if !matches!(separator, b'T' | b't' | b' ') {
        return None;
    }
    let (time, rest) = time(rest)?;
    let offset = match rest {
        [] | [b'z' | b'Z'] => 0,
        rest => offset(str::from_utf8(rest).ok()?.trim_start().as_bytes())?,
    };
    Some(start + time - offset)
}

/// The number that digits are.
fn number(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0_i64, |number, digit| {
        digit.is_ascii_digit().then(|| 10 * number + i64::from(digit - b'0'))
    })
}

/// Days since 1970-01-01 of `YYYY-MM-DD` in the Gregorian calendar.
fn days(date: &[u8]) -> Option<i64> {
    let [y0, y1, y2, y3, b'-', m0, m1, b'-', d0, d1] = *date else { return None };
    let (year, month, day) = (number(&[y0, y1, y2, y3])?, number(&[m0, m1])?, number(&[d0, d1])?);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return None,
    };
    if !(1..=last).contains(&day) {
        return None;
    }
    // Years that begin in March end with the day that only some have: five months of 153 days.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leaps = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    // 719,468 days lie between 0000-03-01 and 1970-01-01.
    Some(365 * year + leaps + (153 * month + 2) / 5 + day - 1 - 719_468)
}

/// Milliseconds of `HH:MM:SS`, with a fraction or without, or of `HHMMSS`; and what follows.
fn time(text: &[u8]) -> Option<(i64, &[u8])> {
    let (fields, rest) = match *text {
        [h0, h1, b':', m0, m1, b':', s0, s1, ref rest @ ..] => ([h0, h1, m0, m1, s0, s1], rest),
        [h0, h1, m0, m1, s0, s1, ref rest @ ..] => ([h0, h1, m0, m1, s0, s1], rest),
        _ => return None,
    };
    let [h0, h1, m0, m1, s0, s1] = fields;
    let (hour, minute, second) = (number(&[h0, h1])?, number(&[m0, m1])?, number(&[s0, s1])?);
    // The 60th second of a minute is a leap second, which is told as the next one.
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let whole = 1000 * (3600 * hour + 60 * minute + second);
    let Some((b'.', fraction)) = rest.split_first() else { return Some((whole, rest)) };
    if text.get(2) != Some(&b':') {
        return None;
    }
    let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (fraction, rest) = fraction.split_at_checked(digits).filter(|_| digits > 0)?;
    let thousandths = fraction.iter().copied().chain([b'0'; 3]).take(3).collect::<Vec<u8>>();
    Some((whole + number(&thousandths)?, rest))
}

/// Milliseconds of a distance from UTC: `+HH:MM`, `+HHMM` or `+HH`.
fn offset(text: &[u8]) -> Option<i64> {
    let (sign, digits) = match *text {
        [sign, h0, h1, b':', m0, m1] | [sign, h0, h1, m0, m1] => (sign, [h0, h1, m0, m1]),
        [sign, h0, h1] => (sign, [h0, h1, b'0', b'0']),
        _ => return None,
    };
    let [h0, h1, m0, m1] = digits;
    let distance = 60_000 * (60 * number(&[h0, h1])? + number(&[m0, m1])?);
    match sign {
        _ if distance >= DAY => None,
        b'+' => Some(distance),
        b'-' => Some(-distance),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::milliseconds;
    use arrow_cast::parse::string_to_timestamp_nanos;
    use proptest::prelude::*;

    fn of_arrow(text: &str) -> Option<i64> {
        string_to_timestamp_nanos(text).ok().map(|nanos| nanos.div_euclid(1_000_000))
    }

    /// All days of the years that nanoseconds reach, and days that no month has. Seen red with every
    /// fourth year a leap year, and with a December of 30 days.
    #[test]
    fn days_are_those_of_the_calendar() {
        for year in [1678, 1700, 1899, 1900, 1969, 1970, 1999, 2000, 2023, 2024, 2100, 2261] {
            for month in 0..=13 {
                for day in 0..=32 {
                    let text = format!("{year:04}-{month:02}-{day:02}");
                    assert_eq!(milliseconds(&text), of_arrow(&text), "{text}");
                }
            }
        }
        // Beyond them.
        assert_eq!(milliseconds("0000-03-01"), Some(-719_468 * 86_400_000));
        assert_eq!(milliseconds("9999-12-31T23:59:59.999Z"), Some(253_402_300_799_999));
    }

    #[test]
    fn forms_are_those_of_arrow() {
        for text in [
            "1969-12-31T23:59:59.9999",
            "2024-02-29 12:30:00",
            "2024-02-29t12:30:00.5z",
            "2024-02-29T12:30:00.123456789123456789Z",
            "2024-02-29T12:30:00.123456789123456+01:00",
            "2024-02-29 123000 +04:00",
            "2024-02-29 12:30:00.789 -08",
            "2024-02-29T12:30:00-0330",
            "2024-02-29T12:30:60Z",
            "2024-02-29T12:30:61Z",
            "2024-02-29T24:00:00Z",
            "2024-02-29T12:30",
            "2024-02-29T12:30:00.Z",
            "2024-02-29T12:30:00 Z",
            "2024-02-29T12:30:00+24:00",
            "2024-02-29T12:30:00+23:60",
            "2024-02-29T123000.5",
            "2024-02-29T12:30:00+1:00",
            "2024-02-29Z",
            "2024-02-29T",
            "2024-2-29",
            "yesterday at noon",
            "2024-02-2\u{e4}",
            "",
        ] {
            assert_eq!(milliseconds(text), of_arrow(text), "{text}");
        }
    }

    proptest! {
        /// Seen red with a distance from UTC that is added, and with fractions of two digits.
        #[test]
        fn times_are_those_of_arrow(
            day in "(1[7-9]|2[01])[0-9]{2}-[01][0-9]-[0-3][0-9]",
            time in "[Tt _][0-2][0-9]:[0-6][0-9]:[0-6][0-9](\\.[0-9]{0,12})?",
            compact in "[Tt _][0-2][0-9]{5}",
            zone in "[zZ]| {1,2}[-+][0-2][0-9](:?[0-9]{2})?| [zZ]",
        ) {
            let parts = [&day, &time, &compact, &zone, zone.trim_start(), ""].map(String::from);
            let [day, time, compact, zone, near, none] = parts;
            for text in [
                [&day, &none, &none],
                [&day, &time, &none],
                [&day, &time, &zone],
                [&day, &time, &near],
                [&day, &compact, &none],
                [&day, &compact, &zone],
            ] {
                let text = text.map(String::as_str).concat();
                prop_assert_eq!(milliseconds(&text), of_arrow(&text), "{}", text);
            }
            // Arrow's documentation has this form, and its parser does not.
            if near.starts_with(['+', '-']) {
                let text = |zone: &str| milliseconds(&format!("{day}{compact}{zone}"));
                prop_assert_eq!(text(&near), text(&zone));
            }
        }
    }
}
