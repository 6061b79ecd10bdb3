//! The time in a record's prefix, and the calendar that ties it to real time.

/// Microseconds in a day.
pub const DAY_US: i64 = 86_400_000_000;

/// Month, day and time of day as the prefix has them: no year, no zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WallTime(u64);

impl WallTime {
    /// A wall time, if the fields are those of a real day (February 29 included) and time.
    pub fn new(month: u8, day: u8, hour: u8, minute: u8, second: u8, micro: u32) -> Option<Self> {
        let days = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31].get(usize::from(month.checked_sub(1)?))?;
        if day == 0 || day > *days || hour > 23 || minute > 59 || second > 60 || micro > 999_999 {
            return None;
        }
        let seconds = (u64::from(hour) * 60 + u64::from(minute)) * 60 + u64::from(second);
        let micros = seconds * 1_000_000 + u64::from(micro);
        Some(Self((u64::from(month) << 42) | (u64::from(day) << 37) | micros))
    }

    const fn month(self) -> u64 {
        self.0 >> 42
    }

    const fn day(self) -> u64 {
        (self.0 >> 37) & 31
    }

    /// Month, day and hour as one number: what changes when a clock is set.
    pub const fn hour_key(self) -> u64 {
        (self.0 >> 37) * 24 + (self.0 & ((1 << 37) - 1)) / 3_600_000_000
    }

    /// Whether it is a day that only leap years have.
    pub const fn is_leap_day(self) -> bool {
        self.month() == 2 && self.day() == 29
    }

    /// Whether a clock that showed `latest` on the same day must have been set to show this: by a quarter of an
    /// hour at least, since records of several threads come a little out of order.
    pub const fn is_set_back_from(self, latest: Self) -> bool {
        const QUARTER: u64 = 15 * 60 * 1_000_000;
        self.0 >> 37 == latest.0 >> 37 && self.0 + QUARTER <= latest.0
    }

    /// Microseconds since 1970 of this wall time in `year`, as if the zone were UTC.
    pub fn in_year(self, year: i64) -> i64 {
        let days = days_from_civil(year, self.month().cast_signed(), self.day().cast_signed());
        days * DAY_US + (self.0 & ((1 << 37) - 1)).cast_signed()
    }

    /// Microseconds since 1970, as if the zone were UTC, in the year that brings it nearest to `near_us`.
    pub fn nearest(self, near_us: i64) -> i64 {
        let year = civil_from_days(near_us.div_euclid(DAY_US)).0;
        let distance = |at: &i64| (at - near_us).abs();
        let same_year = self.in_year(year);
        if distance(&same_year) <= 180 * DAY_US {
            return same_year;
        }
        [year - 1, year, year + 1].map(|y| self.in_year(y)).into_iter().min_by_key(distance).unwrap_or_default()
    }

    /// Microseconds since 1970, as if the zone were UTC, in the latest year that has this day and is not after
    /// `limit_us`.
    pub fn latest_before(self, limit_us: i64) -> i64 {
        let year = civil_from_days(limit_us.div_euclid(DAY_US)).0;
        // Two leap years are at most eight years apart.
        let fits = |year: &i64| self.in_year(*year) <= limit_us && (!self.is_leap_day() || is_leap_year(*year));
        self.in_year((year - 8..=year).rev().find(fits).unwrap_or(year - 1))
    }
}

const fn is_leap_year(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Days since 1970-01-01 of a date in the proleptic Gregorian calendar
/// (the era algorithm of Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms").
pub const fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year - era * 400;
    let day_of_year = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// Year, month and day of a number of days since 1970-01-01.
pub const fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted - era * 146_097;
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + (month <= 2) as i64;
    (year, month, day)
}

/// `2026-11-30T00:17:05.928000`, from microseconds since 1970.
pub fn iso(us: i64) -> String {
    let (year, month, day) = civil_from_days(us.div_euclid(DAY_US));
    let rest = us.rem_euclid(DAY_US);
    let (seconds, micros) = (rest / 1_000_000, rest % 1_000_000);
    let mut text = String::with_capacity(26);
    match year {
        0..=9999 => digits(&mut text, year, 4),
        _ => text += &format!("{year:04}"),
    }
    let parts = [('-', month), ('-', day), ('T', seconds / 3600), (':', seconds / 60 % 60), (':', seconds % 60)];
    for (mark, number) in parts {
        text.push(mark);
        digits(&mut text, number, 2);
    }
    text.push('.');
    digits(&mut text, micros, 6);
    text
}

/// Appends the last `places` digits of a number.
fn digits(text: &mut String, number: i64, places: u32) {
    for place in (0..places).rev() {
        let digit = number / 10_i64.pow(place) % 10;
        text.push(char::from(b'0' + u8::try_from(digit).unwrap_or_default()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calendar_goes_both_ways() {
        for days in (-800_000..800_000).step_by(97) {
            let (year, month, day) = civil_from_days(days);
            assert_eq!(days_from_civil(year, month, day), days);
        }
        assert_eq!(civil_from_days(0), (1970, 1, 1));
        assert_eq!(iso(1_795_996_588_050_555), "2026-11-29T23:56:28.050555");
        assert_eq!((iso(0), iso(-1)), ("1970-01-01T00:00:00.000000".into(), "1969-12-31T23:59:59.999999".into()));
        assert_eq!(iso(400_000_000_000_000_000), "14645-06-30T15:06:40.000000");
    }

    #[test]
    fn a_clock_that_is_set_back_is_seen() {
        let at = |day, hour, minute| WallTime::new(10, day, hour, minute, 0, 0).unwrap();
        assert!(at(26, 2, 0).is_set_back_from(at(26, 2, 15)));
        assert!(!at(26, 2, 1).is_set_back_from(at(26, 2, 15)));
        assert!(!at(26, 2, 59).is_set_back_from(at(26, 2, 0)));
        assert!(!at(25, 23, 0).is_set_back_from(at(26, 0, 0)));
    }

    #[test]
    fn years_are_found() {
        let new_year = WallTime::new(1, 1, 0, 0, 1, 0).unwrap();
        let near = days_from_civil(2025, 12, 31) * DAY_US;
        assert_eq!(iso(new_year.nearest(near)), "2026-01-01T00:00:01.000000");
        let december = WallTime::new(12, 31, 23, 0, 0, 0).unwrap();
        assert_eq!(iso(december.latest_before(days_from_civil(2026, 3, 1) * DAY_US)), "2025-12-31T23:00:00.000000");
        let leap = WallTime::new(2, 29, 12, 0, 0, 0).unwrap();
        for (limit, year) in [((2026, 3, 1), 2024), ((2024, 2, 29), 2020), ((2024, 3, 1), 2024), ((1903, 1, 1), 1896)] {
            let limit = days_from_civil(limit.0, limit.1, limit.2) * DAY_US;
            assert_eq!(iso(leap.latest_before(limit)), format!("{year}-02-29T12:00:00.000000"));
        }
        assert_eq!(WallTime::new(2, 30, 0, 0, 0, 0), None);
        assert_eq!(WallTime::new(13, 1, 0, 0, 0, 0), None);
    }
}
