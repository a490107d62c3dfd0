//! Time zones, and the times that have one.

use std::cmp::Ordering;

use chrono::{MappedLocalTime, NaiveDateTime, NaiveTime, Offset, TimeDelta, TimeZone, Timelike};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use super::{DAY, NANOS};

/// Longest gap of a time zone's clock, with room to spare.
const GAP: TimeDelta = TimeDelta::hours(30);

/// A time zone: a distance from UTC, or the name of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Zone {
    /// Seconds east of UTC.
    Offset(i32),
    /// A zone of the IANA database.
    Named(Tz),
}

impl Zone {
    /// Coordinated universal time.
    pub const UTC: Zone = Zone::Offset(0);

    /// The zone of a name of the IANA database.
    pub fn of_name(name: &str) -> Option<Self> {
        name.parse().ok().map(Zone::Named)
    }

    /// Seconds east of UTC at a local time. Of two that a clock shows twice, the earlier; a local time
    /// that a clock leaves out is moved by the length of the gap.
    fn resolve(self, local: NaiveDateTime) -> Option<(NaiveDateTime, i32)> {
        let tz = match self {
            Zone::Offset(seconds) => return Some((local, seconds)),
            Zone::Named(tz) => tz,
        };
        match tz.offset_from_local_datetime(&local) {
            MappedLocalTime::Single(offset) | MappedLocalTime::Ambiguous(offset, _) => {
                Some((local, offset.fix().local_minus_utc()))
            }
            MappedLocalTime::None => {
                let before = tz.offset_from_local_datetime(&local.checked_sub_signed(GAP)?);
                let seconds = before.earliest()?.fix().local_minus_utc();
                let utc = local.checked_sub_signed(TimeDelta::seconds(seconds.into()))?;
                let offset = self.at(utc);
                Some((utc.checked_add_signed(TimeDelta::seconds(offset.into()))?, offset))
            }
        }
    }

    /// Seconds east of UTC at a time in UTC.
    pub(crate) fn at(self, utc: NaiveDateTime) -> i32 {
        match self {
            Zone::Offset(seconds) => seconds,
            Zone::Named(tz) => tz.offset_from_utc_datetime(&utc).fix().local_minus_utc(),
        }
    }
}

/// A time of day with a distance from UTC.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Time {
    /// Time of day there.
    pub time: NaiveTime,
    /// Seconds east of UTC.
    pub offset: i32,
}

impl Time {
    /// Nanoseconds since midnight in UTC; negative, or past a day, where the local day is another.
    pub fn utc_nanos(&self) -> i64 {
        nanos_of(self.time) - i64::from(self.offset) * NANOS
    }
}

impl PartialEq for Time {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Time {}

impl PartialOrd for Time {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Time {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.utc_nanos(), self.offset).cmp(&(other.utc_nanos(), other.offset))
    }
}

/// Nanoseconds since midnight.
pub(crate) fn nanos_of(time: NaiveTime) -> i64 {
    i64::from(time.num_seconds_from_midnight()) * NANOS + i64::from(time.nanosecond())
}

/// The time of day of a number of nanoseconds, which wraps at midnight.
pub(crate) fn time_of(nanos: i64) -> NaiveTime {
    let nanos = nanos.rem_euclid(DAY * NANOS);
    let seconds = u32::try_from(nanos / NANOS).unwrap_or_default();
    let rest = u32::try_from(nanos % NANOS).unwrap_or_default();
    NaiveTime::from_num_seconds_from_midnight_opt(seconds, rest).unwrap_or_default()
}

/// A point in time, with the clock of a zone.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct DateTime {
    local: NaiveDateTime,
    offset: i32,
    zone: Zone,
}

impl DateTime {
    /// The point at which the clock of a zone shows a local time; `None` outside of the calendar.
    pub fn at(local: NaiveDateTime, zone: Zone) -> Option<Self> {
        let (local, offset) = zone.resolve(local)?;
        local.checked_sub_signed(TimeDelta::seconds(offset.into()))?;
        Some(DateTime { local, offset, zone })
    }

    /// The point of a time in UTC, with the clock of a zone; `None` outside of the calendar.
    pub fn of_utc(utc: NaiveDateTime, zone: Zone) -> Option<Self> {
        let offset = zone.at(utc);
        let local = utc.checked_add_signed(TimeDelta::seconds(offset.into()))?;
        Some(DateTime { local, offset, zone })
    }

    /// The local time that the clock of the zone shows.
    pub fn local(&self) -> NaiveDateTime {
        self.local
    }

    /// Seconds east of UTC.
    pub fn offset(&self) -> i32 {
        self.offset
    }

    /// The zone.
    pub fn zone(&self) -> Zone {
        self.zone
    }

    /// The same point in UTC.
    pub fn utc(&self) -> NaiveDateTime {
        // The constructors have computed it once.
        self.local.checked_sub_signed(TimeDelta::seconds(self.offset.into())).unwrap_or(self.local)
    }
}

impl PartialEq for DateTime {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for DateTime {}

impl PartialOrd for DateTime {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for DateTime {
    fn cmp(&self, other: &Self) -> Ordering {
        let name = |zone: Zone| match zone {
            Zone::Offset(_) => "",
            Zone::Named(tz) => tz.name(),
        };
        let of_time = self.utc().cmp(&other.utc()).then(self.offset.cmp(&other.offset));
        of_time.then_with(|| name(self.zone).cmp(name(other.zone)))
    }
}
