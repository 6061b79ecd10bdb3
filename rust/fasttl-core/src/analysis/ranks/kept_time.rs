//! The time of a compile in half the room, since there are a million of them in a large job.

use super::timing::{Clock, CompileTime};

/// A [`CompileTime`].
#[derive(Clone, Copy, Debug)]
pub(super) struct KeptTime {
    /// [`i64::MIN`] for none, as in `end_us`.
    start_us: i64,
    end_us: i64,
    /// From the begin to the first end, an hour at most; [`u32::MAX`] for none.
    first_us: u32,
    /// NaN for none.
    seconds: f32,
    clock: Clock,
}

impl From<CompileTime> for KeptTime {
    fn from(time: CompileTime) -> Self {
        let first_us = time.first_end_us.map(|end| end.saturating_sub(time.start_us.unwrap_or(end)).max(0));
        Self {
            start_us: time.start_us.unwrap_or(i64::MIN),
            end_us: time.end_us.unwrap_or(i64::MIN),
            first_us: first_us.map_or(u32::MAX, |us| u32::try_from(us).unwrap_or(u32::MAX - 1)),
            seconds: time.seconds.unwrap_or(f32::NAN),
            clock: time.clock,
        }
    }
}

impl From<KeptTime> for CompileTime {
    fn from(kept: KeptTime) -> Self {
        let moment = |us: i64| (us != i64::MIN).then_some(us);
        let start_us = moment(kept.start_us);
        let first_end_us =
            start_us.filter(|_| kept.first_us != u32::MAX).map(|us| us.saturating_add(kept.first_us.into()));
        let seconds = (!kept.seconds.is_nan()).then_some(kept.seconds);
        Self { start_us, first_end_us, end_us: moment(kept.end_us), seconds, clock: kept.clock }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_kept_as_it_is() {
        let whole = CompileTime {
            start_us: Some(5),
            first_end_us: Some(9),
            end_us: Some(1 << 50),
            seconds: Some(2.5),
            clock: Clock::Events,
        };
        for time in [whole, CompileTime::default(), CompileTime { first_end_us: None, seconds: None, ..whole }] {
            assert_eq!(CompileTime::from(KeptTime::from(time)), time);
        }
    }
}
