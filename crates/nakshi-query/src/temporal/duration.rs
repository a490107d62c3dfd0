//! Durations, and the distance of two points in time.

use std::cmp::Ordering;

use chrono::{Datelike, Months, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta};
use serde::{Deserialize, Serialize};

use super::zone::{DateTime, Zone};
use super::{DAY, NANOS};

/// Seconds of a month on average: a twelfth of the Gregorian year.
const MONTH: i64 = 2_629_746;

/// A duration. Months, days and seconds are kept apart, because months and days differ in length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Duration {
    /// Months.
    pub months: i64,
    /// Days.
    pub days: i64,
    /// Seconds, rounded down.
    pub seconds: i64,
    /// Nanoseconds, from 0 to 999,999,999.
    pub nanos: i32,
}

impl Duration {
    /// The duration of these parts; `None` if it does not fit.
    pub(crate) fn of(months: i64, days: i64, seconds: i64, nanos: i64) -> Option<Self> {
        let seconds = seconds.checked_add(nanos.div_euclid(NANOS))?;
        let nanos = i32::try_from(nanos.rem_euclid(NANOS)).ok()?;
        Some(Duration { months, days, seconds, nanos })
    }

    /// The duration of parts with fractions, which go into the smaller parts; `None` if it does not fit.
    pub(crate) fn approximate(months: f64, days: f64, seconds: f64, nanos: f64) -> Option<Self> {
        let month_seconds = MONTH as f64;
        let whole_months = whole(months)?;
        let days = days + (months - whole_months as f64) * month_seconds / DAY as f64;
        let whole_days = whole(days)?;
        let seconds = seconds + (days - whole_days as f64) * DAY as f64;
        let whole_seconds = whole(seconds)?;
        let nanos = nanos + (seconds - whole_seconds as f64) * NANOS as f64;
        // Products of fractions are off by less than a thousandth of a nanosecond.
        let nanos = if (nanos - nanos.round()).abs() < 1e-3 { nanos.round() } else { nanos };
        Self::of(whole_months, whole_days, whole_seconds, whole(nanos)?)
    }

    /// The sum of two durations.
    pub(crate) fn plus(self, other: Self) -> Option<Self> {
        Self::of(
            self.months.checked_add(other.months)?,
            self.days.checked_add(other.days)?,
            self.seconds.checked_add(other.seconds)?,
            i64::from(self.nanos) + i64::from(other.nanos),
        )
    }

    /// The duration in the other direction.
    pub(crate) fn negated(self) -> Option<Self> {
        Self::of(
            self.months.checked_neg()?,
            self.days.checked_neg()?,
            self.seconds.checked_neg()?,
            -i64::from(self.nanos),
        )
    }

    /// The duration times a number.
    pub(crate) fn times(self, factor: f64) -> Option<Self> {
        Self::approximate(
            self.months as f64 * factor,
            self.days as f64 * factor,
            self.seconds as f64 * factor,
            f64::from(self.nanos) * factor,
        )
    }

    /// Seconds and nanoseconds with months and days of average length, by which durations are ordered.
    fn length(&self) -> (i128, i32) {
        let wide = i128::from;
        let days = wide(self.months) * wide(MONTH) + wide(self.days) * wide(DAY);
        (days + wide(self.seconds), self.nanos)
    }

    /// Compares by the average length, then by the parts.
    pub(crate) fn order(&self, other: &Self) -> Ordering {
        let parts = |it: &Self| (it.months, it.days, it.seconds);
        self.length().cmp(&other.length()).then_with(|| parts(self).cmp(&parts(other)))
    }

    /// The date and time after the duration; days of a month that it does not have become its last one.
    pub(crate) fn added_to(self, to: NaiveDateTime) -> Option<NaiveDateTime> {
        let date = self.added_to_date(to.date())?;
        let time = TimeDelta::new(self.seconds, u32::try_from(self.nanos).ok()?)?;
        date.and_time(to.time()).checked_add_signed(time)
    }

    /// The date after the months and days of the duration.
    pub(crate) fn added_to_date(self, to: NaiveDate) -> Option<NaiveDate> {
        plus_months(to, self.months)?.checked_add_signed(TimeDelta::try_days(self.days)?)
    }
}

/// The integer part; `None` for one that does not fit.
fn whole(value: f64) -> Option<i64> {
    // Both bounds are exact powers of two.
    (value.is_finite() && value > -9.3e18 && value < 9.2e18).then_some(value.trunc() as i64)
}

fn plus_months(to: NaiveDate, months: i64) -> Option<NaiveDate> {
    let count = Months::new(u32::try_from(months.unsigned_abs()).ok()?);
    if months < 0 { to.checked_sub_months(count) } else { to.checked_add_months(count) }
}

/// Unit of a distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Between {
    /// Months, then days, then seconds.
    All,
    Months,
    Days,
    Seconds,
}

/// A point in time of which parts may be missing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub(crate) date: Option<NaiveDate>,
    pub(crate) time: Option<NaiveTime>,
    pub(crate) zone: Option<Zone>,
}

impl Moment {
    /// The distance to another moment. Each takes the parts that it lacks from the other; a missing time
    /// is midnight.
    pub(crate) fn until(&self, to: &Moment, measure: Between) -> Option<Duration> {
        let dated = self.date.is_some() && to.date.is_some();
        let day = self.date.or(to.date).unwrap_or_default();
        let zone = self.zone.or(to.zone).unwrap_or(Zone::UTC);
        let of = |moment: &Moment| {
            let local = moment.date.unwrap_or(day).and_time(moment.time.unwrap_or_default());
            DateTime::at(local, moment.zone.unwrap_or(zone))
        };
        let (from, to) = (of(self)?, of(to)?);
        let to = DateTime::of_utc(to.utc(), from.zone())?;
        let (mut months, mut days) = (0, 0);
        let mut start = from.local();
        if dated && matches!(measure, Between::All | Between::Months) {
            months = whole_months(start, to.local());
            start = plus_months(start.date(), months)?.and_time(start.time());
        }
        if dated && matches!(measure, Between::All | Between::Days) {
            days = (to.local() - start).num_days();
            start = start.checked_add_signed(TimeDelta::try_days(days)?)?;
        }
        if matches!(measure, Between::Months | Between::Days) {
            return Duration::of(months, days, 0, 0);
        }
        let rest = to.utc() - DateTime::at(start, from.zone())?.utc();
        Duration::of(months, days, rest.num_seconds(), rest.subsec_nanos().into())
    }
}

/// Whole months from one time to another, negative backwards.
fn whole_months(from: NaiveDateTime, to: NaiveDateTime) -> i64 {
    let number = |at: NaiveDateTime| i64::from(at.year()) * 12 + i64::from(at.month0());
    let rest = |at: NaiveDateTime| (at.day(), at.time());
    let months = number(to) - number(from);
    if months > 0 && rest(to) < rest(from) {
        months - 1
    } else if months < 0 && rest(to) > rest(from) {
        months + 1
    } else {
        months
    }
}
