//! Time: the moment type, and the only module that reads the system's clock.

use std::fmt;

use jiff::Timestamp;
use jiff::tz::{Offset, TimeZone};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{Error, ErrorKind, Result};
use crate::fork;

/// A moment: microseconds since 1970 in UTC, and the UTC offset of the clock that recorded it.
///
/// Two moments are equal, and ordered, by their instant alone; the offset only says what "today"
/// meant to the speaker. In JSON a moment is RFC 3339 with its own offset
/// (`2024-03-11T09:30:00+01:00`).
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    micros: i64,
    offset_seconds: i32,
}

/// 1970 as a date without a zone. Dates are counted from it, because jiff's `Timestamp` ends a few
/// days before the year 9999 does.
const EPOCH: jiff::civil::DateTime = jiff::civil::date(1970, 1, 1).at(0, 0, 0, 0);

impl Moment {
    /// The earliest moment that Python's `datetime` can hold, and so the earliest that is accepted.
    pub const MIN: Moment = Moment { micros: -62_135_596_800_000_000, offset_seconds: 0 };
    /// The latest moment that `datetime` can hold.
    pub const MAX: Moment = Moment { micros: 253_402_300_799_999_999, offset_seconds: 0 };

    /// Takes microseconds since 1970 (UTC) and an offset in seconds east of Greenwich.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](crate::error::ErrorKind::InvalidInput) outside the years 1 to
    /// 9999 or with an offset of a day or more.
    pub fn new(micros: i64, offset_seconds: i32) -> Result<Self> {
        if !(Self::MIN.micros..=Self::MAX.micros).contains(&micros) {
            return Err(Error::invalid(format!(
                "timestamp is outside the years 1 to 9999: `{micros}` microseconds"
            )));
        }
        if offset_seconds.abs() >= 24 * 3600 {
            return Err(Error::invalid(format!(
                "time zone offset is a day or more: `{offset_seconds}` seconds"
            )));
        }
        Ok(Self { micros, offset_seconds })
    }

    /// Reads ISO 8601 / RFC 3339: a date, or a date and time. A text without an offset is in UTC.
    ///
    /// # Errors
    /// `InvalidInput` if the text is not a date.
    pub fn parse(text: &str) -> Result<Self> {
        let fail = || {
            Error::invalid(format!(
                "timestamp is not ISO 8601: `{}`",
                text.chars().take(40).collect::<String>()
            ))
            .with_hint("write dates like `2024-03-11T09:30:00+01:00`")
        };
        let text = text.trim();
        let pieces =
            jiff::fmt::temporal::DateTimeParser::new().parse_pieces(text).map_err(|_| fail())?;
        let time = pieces.time().unwrap_or_else(jiff::civil::Time::midnight);
        let civil = pieces.date().to_datetime(time);
        let offset = match pieces.offset() {
            Some(jiff::fmt::temporal::PiecesOffset::Numeric(numeric)) => numeric.offset(),
            _ => Offset::UTC,
        };
        let since = civil.duration_since(EPOCH);
        let micros = i64::try_from(since.as_micros()).map_err(|_| fail())?;
        Self::new(micros - i64::from(offset.seconds()) * 1_000_000, offset.seconds())
    }

    /// Microseconds since 1970 in UTC.
    pub(crate) fn micros(self) -> i64 {
        self.micros
    }

    /// Offset of the clock that recorded the moment, in seconds east of Greenwich.
    pub fn offset_seconds(self) -> i32 {
        self.offset_seconds
    }

    /// Seconds from `earlier` to `self`, negative if `self` comes first.
    pub(crate) fn seconds_since(self, earlier: Moment) -> f64 {
        (self.micros as f64 - earlier.micros as f64) / 1e6
    }

    /// The wall-clock date and time at the place of recording.
    pub fn local(self) -> jiff::civil::DateTime {
        civil_time(self.micros + i64::from(self.offset_seconds) * 1_000_000)
    }

    /// The date and time in UTC.
    pub fn utc(self) -> jiff::civil::DateTime {
        civil_time(self.micros)
    }
}

fn civil_time(micros: i64) -> jiff::civil::DateTime {
    EPOCH.saturating_add(jiff::SignedDuration::from_micros(micros))
}

impl PartialEq for Moment {
    fn eq(&self, other: &Self) -> bool {
        self.micros == other.micros
    }
}
impl Eq for Moment {}
impl PartialOrd for Moment {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Moment {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.micros.cmp(&other.micros)
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl Moment {
    /// The stored form, built digit by digit for speed: each record has several moments.
    fn text(self) -> String {
        let local = self.local();
        let mut text = String::with_capacity("2024-03-11T09:30:00.000001+05:30".len());
        push_digits(&mut text, local.year().into(), 4);
        for (mark, number) in [
            ('-', local.month()),
            ('-', local.day()),
            ('T', local.hour()),
            (':', local.minute()),
            (':', local.second()),
        ] {
            text.push(mark);
            push_digits(&mut text, number.into(), 2);
        }
        let micros = self.micros.rem_euclid(1_000_000);
        if micros != 0 {
            text.push('.');
            push_digits(&mut text, micros, 6);
        }
        text.push(if self.offset_seconds < 0 { '-' } else { '+' });
        let seconds = i64::from(self.offset_seconds.abs());
        push_digits(&mut text, seconds / 3600, 2);
        text.push(':');
        push_digits(&mut text, seconds % 3600 / 60, 2);
        if seconds % 60 != 0 {
            text.push(':');
            push_digits(&mut text, seconds % 60, 2);
        }
        text
    }
}

/// Appends a number padded with zeros to `digits` digits.
fn push_digits(text: &mut String, number: i64, digits: u32) {
    for place in (0..digits).rev() {
        text.push(char::from(b'0' + (number / 10_i64.pow(place) % 10) as u8));
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        Moment::parse(&text).map_err(serde::de::Error::custom)
    }
}

/// The zone in which dates are shown: one zone for all, or the offset that each moment was recorded
/// with.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DisplayZone(Option<TimeZone>);

impl DisplayZone {
    /// The zone with a name (`Europe/Paris`, `UTC`) or an offset (`+08:00`). Names come from the
    /// system's zone database, or from the one in the package if the system has none.
    ///
    /// # Errors
    /// `Config` for an unknown name.
    pub fn from_name(name: &str) -> Result<Self> {
        let parser = jiff::fmt::temporal::DateTimeParser::new();
        // jiff reads zones under a lock, which must not be held across a fork.
        let found = fork::make_locked(|| parser.parse_time_zone(name.trim()));
        found.map(|zone| Self(Some(zone))).map_err(|_| {
            let shown: String = name.chars().take(60).collect();
            Error::new(ErrorKind::Config, format!("timezone is unknown: `{shown}`"))
                .with_hint("name one like `Europe/Paris`, `Asia/Shanghai`, `UTC` or `+08:00`")
        })
    }

    /// The same moment as a clock in this zone shows it.
    pub fn local_moment(&self, moment: Moment) -> Moment {
        let Some(zone) = &self.0 else { return moment };
        // Shows moments after the end of jiff's `Timestamp`, in the last days of 9999, in UTC.
        let offset = Timestamp::from_microsecond(moment.micros).map(|at| zone.to_offset(at));
        Moment { offset_seconds: offset.map_or(0, Offset::seconds), ..moment }
    }

    /// The moment of a message by its writer's clock. Many programs send all times in UTC, which
    /// tells nothing about the writer: these moments are read in this zone.
    pub fn writer_moment(&self, moment: Moment) -> Moment {
        let shown = self.local_moment(moment);
        let local = moment.micros + i64::from(shown.offset_seconds) * 1_000_000;
        let is_date = (Moment::MIN.micros..=Moment::MAX.micros).contains(&local);
        if moment.offset_seconds == 0 && is_date { shown } else { moment }
    }
}

/// Source of the present time for everything that dates a record. Tests replace it.
pub trait Clock: Send + Sync {
    /// The present moment, in UTC.
    fn now(&self) -> Moment;
}

/// The operating system's clock.
#[derive(Debug, Default, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Moment {
        Moment { micros: Timestamp::now().as_microsecond(), offset_seconds: 0 }
    }
}

/// A clock that always shows the same moment, for tests and reproducible stores.
#[derive(Debug, Clone)]
pub struct FixedClock(Moment);

impl FixedClock {
    /// A clock that shows `moment`, in UTC.
    pub fn new(moment: Moment) -> Self {
        Self(moment)
    }
}

impl Clock for FixedClock {
    fn now(&self) -> Moment {
        Moment { offset_seconds: 0, ..self.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_keep_their_offset_and_compare_by_instant() {
        let lyon = Moment::parse("2024-03-11T09:30:00+01:00").expect("valid");
        assert_eq!(lyon.to_string(), "2024-03-11T09:30:00+01:00");
        assert_eq!(lyon, Moment::parse("2024-03-11T08:30:00Z").expect("valid"));
        assert_eq!(Moment::parse("2024-03-11T08:30:00").expect("valid"), lyon);
    }

    #[test]
    fn a_zone_shows_the_same_moment_by_its_own_clock() {
        let shown = |zone: &str, text: &str| {
            DisplayZone::from_name(zone)
                .expect("known")
                .local_moment(Moment::parse(text).expect("valid"))
                .to_string()
        };
        let (winter, summer) = ("2024-01-05T23:30:00Z", "2024-07-05T23:30:00Z");
        assert_eq!(shown("Europe/Paris", winter), "2024-01-06T00:30:00+01:00");
        assert_eq!(shown("Europe/Paris", summer), "2024-07-06T01:30:00+02:00");
        assert_eq!(shown("+08:00", winter), "2024-01-06T07:30:00+08:00");
        assert_eq!(shown("UTC", "2024-01-05T01:00:00+02:00"), "2024-01-04T23:00:00+00:00");
        let own = Moment::parse("2024-01-05T01:00:00+02:00").expect("valid");
        assert_eq!(
            DisplayZone::default().local_moment(own).to_string(),
            "2024-01-05T01:00:00+02:00"
        );
        let paris = DisplayZone::from_name("Europe/Paris").expect("known");
        assert_eq!(
            (paris.local_moment(Moment::MAX), paris.local_moment(Moment::MIN)),
            (Moment::MAX, Moment::MIN)
        );
        let error = DisplayZone::from_name("Mars/Base").unwrap_err();
        assert_eq!(error.to_string(), "timezone is unknown: `Mars/Base`");
    }

    #[test]
    fn the_whole_calendar_of_python_round_trips() {
        for text in [
            "0001-01-01T00:00:00+00:00",
            "9999-12-31T23:59:59.999999+00:00",
            "1969-12-31T23:59:59.500000+00:00",
        ] {
            assert_eq!(Moment::parse(text).expect("valid").to_string(), text);
        }
        assert!(Moment::parse("yesterday").is_err());
        assert!(Moment::parse("0001-01-01T00:00:00+02:00").is_err());
    }
}
