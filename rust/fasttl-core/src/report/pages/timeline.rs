//! The timeline: a lane for each rank on one clock, with a bar while it compiles, so that one sees who compiles while
//! others wait.
//!
//! A picture has so many pixels, and what lies in one pixel is one bar; a lane is therefore small, however many compiles
//! it has.

use std::ops::Range;

use super::common::{duration, plural};
use super::picture::{State, open, pixels};
use crate::report::html::Markup;

/// Pixels of a lane.
const HEIGHT: u32 = 20;
/// Pixels beside the time, so that a mark at the end has room.
const MARGIN: u32 = 8;
/// Bars of a lane that have a title: the longest.
const TITLES: usize = 48;
/// Pixels that a time takes on the axis.
const LABEL: u32 = 88;
/// Pixels from which two compiles are told apart.
const APART: u32 = 6;
/// Pixels of the picture of how many are at work.
const TALL: u32 = 40;

/// A compile on the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// Its number in the log.
    pub(crate) number: usize,
    /// When it began.
    pub(crate) start_us: i64,
    /// When it ended; `None` where the log does not say.
    pub(crate) end_us: Option<i64>,
    /// How it ended.
    pub(crate) state: State,
}

/// What a rank did.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lane {
    /// Its compiles, in the order of the log.
    pub(crate) spans: Vec<Span>,
    /// When its compiler was at work: begin and end. Where the log does not tell it, the compiles stand for it.
    pub(crate) busy: Vec<(i64, i64)>,
    /// When its log ends.
    pub(crate) end_us: Option<i64>,
    /// Whether that end is a cut.
    pub(crate) cut: bool,
}

impl Lane {
    /// Whether nothing of it has a place on a clock.
    pub(crate) const fn is_empty(&self) -> bool {
        self.spans.is_empty() && self.busy.is_empty() && self.end_us.is_none()
    }
}

/// The time that the lanes share, and the pixels that it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Clock {
    first_us: i64,
    last_us: i64,
    width: u32,
}

/// What a bar is drawn as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    Work,
    Open,
    Error,
}

impl Look {
    const fn of(state: State) -> Self {
        match state {
            State::Error => Self::Error,
            State::Open => Self::Open,
            _ => Self::Work,
        }
    }

    const fn tag(self) -> &'static str {
        match self {
            Self::Work => "<path class=\"run\" d=\"",
            Self::Open => "<path class=\"missing dashed line\" d=\"",
            Self::Error => "<path class=\"error\" d=\"",
        }
    }

    fn path(self, at: &Range<u32>) -> String {
        let (x, width) = (at.start, at.end - at.start);
        match self {
            // A thick line: there are many of them.
            Self::Work => format!("M{x} 10h{width}"),
            // Around the steps of it that ended.
            Self::Open => format!("M{x} 2h{width}v16h-{width}z"),
            // Taller, with a notch, so that its shape says it, too.
            Self::Error => format!("M{x} 1h{width}v18h-{width}z"),
        }
    }
}

impl Clock {
    /// The clock of all lanes; `None` where no log has a time.
    pub(crate) fn of<'l>(lanes: impl Iterator<Item = &'l Lane>, width: u32) -> Option<Self> {
        let times = |lane: &'l Lane| {
            let spans = lane.spans.iter().flat_map(|span| [Some(span.start_us), span.end_us]);
            let busy = lane.busy.iter().flat_map(|(start, end)| [Some(*start), Some(*end)]);
            spans.chain(busy).chain([lane.end_us]).flatten()
        };
        let (mut first_us, mut last_us) = (i64::MAX, i64::MIN);
        for time in lanes.flat_map(times) {
            (first_us, last_us) = (first_us.min(time), last_us.max(time));
        }
        (first_us <= last_us).then_some(Self { first_us, last_us, width: width.max(1) })
    }

    /// Seconds that it has.
    #[expect(clippy::cast_precision_loss, reason = "pixels and three digits are made of it")]
    pub(crate) fn seconds(self) -> f64 {
        self.last_us.saturating_sub(self.first_us) as f64 / 1e6
    }

    #[expect(clippy::cast_precision_loss, reason = "pixels are made of it")]
    fn x(self, us: i64) -> u32 {
        let all = self.last_us.saturating_sub(self.first_us).max(1) as f64;
        pixels(us.saturating_sub(self.first_us) as f64 / all * f64::from(self.width)).min(self.width)
    }

    /// The pixels of a span: at least one. One whose end is not known lasts to the end of its log if it was open then,
    /// else it is a moment.
    fn of_span(self, span: &Span, end_us: Option<i64>) -> Range<u32> {
        let end = span.end_us.or(end_us.filter(|_| span.state == State::Open)).unwrap_or(span.start_us);
        let (from, to) = (self.x(span.start_us), self.x(end));
        let from = from.min(self.width.saturating_sub(1));
        from..to.max(from + 1)
    }

    /// The bars of a lane that look alike, those that touch joined.
    fn runs(self, lane: &Lane, look: Look) -> Vec<Range<u32>> {
        if look == Look::Work && !lane.busy.is_empty() {
            return joined(self.of_busy(lane).collect());
        }
        let of_look = lane.spans.iter().filter(|span| Look::of(span.state) == look);
        joined(of_look.map(|span| self.of_span(span, lane.end_us)).collect())
    }

    fn of_busy(self, lane: &Lane) -> impl Iterator<Item = Range<u32>> + '_ {
        let span =
            |&(start_us, end_us): &(i64, i64)| Span { number: 0, start_us, end_us: Some(end_us), state: State::Ok };
        lane.busy.iter().map(move |stretch| self.of_span(&span(stretch), None))
    }

    /// When a lane compiles, whatever comes of it.
    fn work(self, lane: &Lane) -> Vec<Range<u32>> {
        let is_told = |span: &&Span| lane.busy.is_empty() || span.state == State::Open;
        let spans = lane.spans.iter().filter(is_told).map(|span| self.of_span(span, lane.end_us));
        joined(spans.chain(self.of_busy(lane)).collect())
    }

    /// A lane. `title` names the compile of a number; without it the lane has one title.
    pub(crate) fn lane(self, lane: &Lane, label: &str, title: Option<&dyn Fn(usize) -> String>) -> Markup {
        let mut out = Markup::default();
        let words = self.words(lane);
        open(&mut out, ("lanes", self.width + MARGIN, HEIGHT), &format!("{label}: {words}"));
        if title.is_none() {
            out.tag("<title>").text(&words).tag("</title>");
        }
        if let Some(end) = lane.end_us.map(|end| self.x(end).to_string()) {
            out.tag("<path class=\"until\" d=\"M0 10H").text(&end).tag("\"/>");
        }
        let cuts = self.cuts(lane);
        for look in [Look::Work, Look::Open, Look::Error] {
            let path: String = self.runs(lane, look).iter().map(|run| look.path(run)).collect();
            if !path.is_empty() {
                out.tag(look.tag()).text(&path).tag("\"/>");
            }
        }
        if !cuts.is_empty() {
            out.tag("<path class=\"cut line\" d=\"").text(&cuts).tag("\"/>");
        }
        if let Some(end) = lane.end_us {
            let x = self.x(end);
            if lane.cut {
                out.tag("<path class=\"error line\" d=\"").text(&format!("M{x} 7l6 6m0-6l-6 6")).tag("\"/>");
            } else {
                out.tag("<path class=\"none line\" d=\"").text(&format!("M{} 2v16", x + 1)).tag("\"/>");
            }
        }
        if let Some(title) = title {
            self.hits(lane, title, &mut out);
        }
        out.tag("</svg>");
        out
    }

    /// Where one compile follows another without a gap, and both are wide enough to be told apart.
    fn cuts(self, lane: &Lane) -> String {
        let spans = lane.spans.iter().map(|span| self.of_span(span, lane.end_us));
        let mut starts: Vec<u32> = spans.filter(|bar| bar.end - bar.start >= APART).map(|bar| bar.start).collect();
        starts.sort_unstable();
        let mut cuts = String::new();
        let mut last = 0;
        for start in starts {
            if start >= last + APART {
                cuts += &format!("M{start} 4v12");
                last = start;
            }
        }
        cuts
    }

    /// What shows a title when one points at it: the longest bars.
    fn hits(self, lane: &Lane, title: &dyn Fn(usize) -> String, out: &mut Markup) {
        let mut bars: Vec<(usize, Range<u32>)> =
            lane.spans.iter().map(|span| (span.number, self.of_span(span, lane.end_us))).collect();
        bars.sort_by_key(|(_, bar)| std::cmp::Reverse(bar.end - bar.start));
        bars.truncate(TITLES);
        bars.sort_by_key(|(nth, _)| *nth);
        for (nth, bar) in bars {
            let path = format!("M{} 0h{}v{HEIGHT}h-{1}z", bar.start, bar.end - bar.start);
            out.tag("<path class=\"hit\" d=\"").text(&path).tag("\"><title>").text(&title(nth)).tag("</title></path>");
        }
    }

    /// A lane in words.
    pub(crate) fn words(self, lane: &Lane) -> String {
        let since = |us: i64| Self { last_us: us, ..self }.seconds();
        let mut words = plural(lane.spans.len(), "compile");
        if let (Some(first), Some(last)) = (
            lane.spans.iter().map(|span| span.start_us).min(),
            lane.spans.iter().map(|span| span.end_us.unwrap_or(span.start_us)).max(),
        ) {
            words += &format!(", from {} to {}", at(since(first)), at(since(last)));
        }
        let open = lane.spans.iter().filter(|span| span.state == State::Open).count();
        if open > 0 {
            words += &format!(", {open} never finished");
        }
        let end = if lane.cut { "is cut" } else { "ends" };
        words + &lane.end_us.map(|us| format!(", its log {end} at {}", at(since(us)))).unwrap_or_default()
    }

    /// The times below the lanes.
    pub(crate) fn axis(self) -> Markup {
        let mut out = Markup::default();
        open(&mut out, ("lanes axis", self.width + MARGIN, 18), "Time since the first compile of the job");
        let seconds = self.seconds();
        let step = nice(seconds * f64::from(LABEL) / f64::from(self.width));
        for nth in 0..=(self.width / LABEL) {
            let time = f64::from(nth) * step;
            let x = if seconds > 0.0 { pixels(time / seconds * f64::from(self.width)) } else { 0 };
            if x + LABEL / 2 > self.width || (nth > 0 && seconds <= 0.0) {
                break;
            }
            out.tag("<path class=\"none line\" d=\"").text(&format!("M{x} 0v4")).tag("\"/>");
            out.tag("<text x=\"").text(&x.to_string()).tag("\" y=\"15\">").text(&at(time)).tag("</text>");
        }
        out.tag("</svg>");
        out
    }

    /// How many ranks compile at each time.
    pub(crate) fn at_work<'l>(self, lanes: impl Iterator<Item = &'l Lane>) -> Markup {
        // What comes and goes at each pixel.
        let mut steps = vec![0_i64; self.width as usize + 2];
        let mut all = 0_u32;
        for lane in lanes {
            all += 1;
            for run in self.work(lane) {
                for (at, by) in [(run.start, 1), (run.end, -1)] {
                    if let Some(step) = steps.get_mut(at as usize) {
                        *step += by;
                    }
                }
            }
        }
        let label = format!("How many of {} compile, over time", plural(all as usize, "rank"));
        let mut out = Markup::default();
        open(&mut out, ("lanes", self.width + MARGIN, TALL), &label);
        out.tag("<title>").text(&label).tag("</title><path class=\"work\" d=\"M0 ").text(&TALL.to_string());
        let mut now = 0_i64;
        for (x, step) in steps.iter().enumerate().filter(|(_, step)| **step != 0) {
            now += step;
            #[expect(clippy::cast_precision_loss, reason = "pixels are made of it")]
            let height = f64::from(TALL - 2) * now as f64 / f64::from(all.max(1));
            // Few of many are seen, too.
            let height = if now > 0 { pixels(height).max(1) } else { 0 };
            out.text(&format!("H{x}V{}", TALL - height));
        }
        out.text(&format!("V{TALL}z")).tag("\"/></svg>");
        out
    }
}

/// Bars that touch or overlap are one.
fn joined(mut bars: Vec<Range<u32>>) -> Vec<Range<u32>> {
    bars.sort_unstable_by_key(|bar| (bar.start, bar.end));
    let mut runs: Vec<Range<u32>> = Vec::new();
    for bar in bars {
        match runs.last_mut() {
            Some(last) if bar.start <= last.end => last.end = last.end.max(bar.end),
            _ => runs.push(bar),
        }
    }
    runs
}

/// A time since the start.
fn at(seconds: f64) -> String {
    if seconds == 0.0 { "0 s".to_owned() } else { duration(seconds) }
}

/// The round number of seconds at or above this one: 1, 2 or 5 of a power of ten.
fn nice(seconds: f64) -> f64 {
    if seconds.is_nan() || seconds <= 0.0 {
        return 1.0;
    }
    let power = 10_f64.powf(seconds.log10().floor());
    [1.0, 2.0, 5.0].into_iter().map(|n| n * power).find(|step| *step >= seconds).unwrap_or(10.0 * power)
}

#[cfg(test)]
mod tests;
