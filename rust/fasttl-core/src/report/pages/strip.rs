//! The heat strip: a row for each rank, or for ranks that are alike, and a column for each compile, or for several.
//!
//! A mark says how a compile ended, the height of the bar below it how long it took. Where there are more compiles than
//! columns, a column stands for several: it has the mark of the worst of them and the sum of their times.

use std::ops::Range;

use super::common::{count, duration, plural};
use super::picture::{State, open, pixels};
use crate::analysis::ranks::rank_list;
use crate::report::html::Markup;

/// Pixels of a row: the mark on top, the bar below.
const HEIGHT: u32 = 28;
const TALLEST: u32 = 17;
/// Pixels of all columns together, if they are many.
const WIDTH: u32 = 960;
/// Narrowest and widest column.
const NARROW: u32 = 10;
const WIDE: u32 = 36;
/// Pixels that the id of a column takes.
const LABEL: u32 = 56;

/// A compile of the job.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    /// Its id.
    pub(crate) id: String,
    /// What it compiles.
    pub(crate) name: String,
}

/// A compile on a rank, or on several that are alike.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cell {
    /// How it ended.
    pub(crate) state: State,
    /// Seconds on the fastest and the slowest of the ranks, and which that is.
    pub(crate) time: Option<(f32, f32, i32)>,
}

/// The cells of one column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bin {
    state: State,
    states: [u32; State::ALL.len()],
    seconds: Option<f64>,
    /// That of the only cell.
    time: Option<(f32, f32, i32)>,
}

/// The columns of a strip.
#[derive(Clone, Debug)]
pub(crate) struct Columns {
    all: Vec<Column>,
    each: usize,
    width: u32,
}

impl Columns {
    /// At most `most` columns for these compiles.
    pub(crate) fn new(all: Vec<Column>, most: u32) -> Self {
        let each = all.len().div_ceil(most.max(1) as usize).max(1);
        let bins = u32::try_from(all.len().div_ceil(each)).unwrap_or(u32::MAX).max(1);
        Self { all, each, width: (WIDTH / bins).clamp(NARROW, WIDE) }
    }

    /// How many compiles a column has.
    pub(crate) const fn each(&self) -> usize {
        self.each
    }

    /// Whether there is none.
    pub(crate) const fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    fn bins(&self) -> usize {
        self.all.len().div_ceil(self.each)
    }

    fn range(&self, bin: usize) -> Range<usize> {
        bin * self.each..((bin + 1) * self.each).min(self.all.len())
    }

    fn x(&self, bin: usize) -> u32 {
        u32::try_from(bin).unwrap_or_default().saturating_mul(self.width)
    }

    fn pixels(&self) -> u32 {
        self.x(self.bins())
    }

    /// Brings the cells of a row, one for each compile, into their columns.
    pub(crate) fn binned(&self, mut cells: impl Iterator<Item = Cell>) -> Vec<Bin> {
        (0..self.bins()).map(|bin| Bin::of(cells.by_ref().take(self.range(bin).len()))).collect()
    }

    /// The ids above the columns, as many as there is room for.
    pub(crate) fn axis(&self) -> Markup {
        let mut out = Markup::default();
        open(&mut out, ("strip axis", self.pixels().max(LABEL), 16), "Ids of the compiles");
        let step = (LABEL.div_ceil(self.width)).max(1) as usize;
        for bin in (0..self.bins()).step_by(step) {
            let id = self.all.get(bin * self.each).map_or("", |column| column.id.as_str());
            out.tag("<text x=\"").text(&self.x(bin).to_string()).tag("\" y=\"12\">").text(&short(id)).tag("</text>");
        }
        out.tag("</svg>");
        out
    }

    /// A row, with a title for each of its columns.
    pub(crate) fn titled(&self, bins: &[Bin], longest: f64, label: &str) -> Markup {
        let mut out = self.opened(bins, label);
        for (nth, bin) in bins.iter().enumerate() {
            let x = self.x(nth);
            out.tag("<g><title>").text(&self.title(nth, bin)).tag("</title><path class=\"hit\" d=\"");
            out.text(&format!("M{x} 0h{}v{HEIGHT}h-{0}z", self.width)).tag("\"/>");
            if let Some(bar) = self.bar(x, bin, longest) {
                out.tag(bin.state.bar()).text(&bar).tag("\"/>");
            }
            if let Some(mark) = bin.state.mark() {
                out.tag(mark).text(&bin.state.shape(self.middle(x))).tag("\"/>");
            }
            out.tag("</g>");
        }
        out.tag("</svg>");
        out
    }

    /// A row in little room: with one title for all of it.
    pub(crate) fn plain(&self, bins: &[Bin], longest: f64, label: &str) -> Markup {
        let mut out = self.opened(bins, label);
        out.tag("<title>").text(&summary(bins)).tag("</title>");
        for state in State::ALL {
            let mut bars = String::new();
            let mut marks = String::new();
            for (nth, bin) in bins.iter().enumerate().filter(|(_, bin)| bin.state == state) {
                bars += &self.bar(self.x(nth), bin, longest).unwrap_or_default();
                marks += &state.shape(self.middle(self.x(nth)));
            }
            if !bars.is_empty() {
                out.tag(state.bar()).text(&bars).tag("\"/>");
            }
            if let (Some(mark), false) = (state.mark(), marks.is_empty()) {
                out.tag(mark).text(&marks).tag("\"/>");
            }
        }
        out.tag("</svg>");
        out
    }

    fn opened(&self, bins: &[Bin], label: &str) -> Markup {
        let mut out = Markup::default();
        open(&mut out, ("strip", self.pixels().max(1), HEIGHT), &format!("{label}: {}", summary(bins)));
        out
    }

    fn middle(&self, x: u32) -> u32 {
        x + (self.width.saturating_sub(1) / 2).saturating_sub(4)
    }

    /// The path of a bar. Times differ by orders of magnitude, so that the height grows with their logarithm.
    fn bar(&self, x: u32, bin: &Bin, longest: f64) -> Option<String> {
        let seconds = bin.seconds?;
        let part = if longest > 0.0 { (1.0 + 100.0 * seconds / longest).ln() / 101_f64.ln() } else { 0.0 };
        let height = pixels(f64::from(TALLEST) * part).clamp(1, TALLEST);
        Some(format!("M{x} {}h{}v{height}h-{1}z", HEIGHT - height, self.width - 1))
    }

    fn title(&self, nth: usize, bin: &Bin) -> String {
        let columns = self.all.get(self.range(nth)).unwrap_or_default();
        let what = match columns {
            [] => String::new(),
            [one] => format!("{} {}", short(&one.id), short(&one.name)),
            [first, .., last] => format!("{} to {}", short(&first.id), short(&last.id)),
        };
        format!("{}: {}", what.trim_end(), bin.words(columns.len()))
    }
}

/// Ids and names come from logs, and a strip has many of them.
fn short(text: &str) -> String {
    super::common::shorten(text, 40)
}

impl Bin {
    fn of(cells: impl Iterator<Item = Cell>) -> Self {
        let mut bin = Self { state: State::Ok, states: [0; State::ALL.len()], seconds: None, time: None };
        let mut several = false;
        for cell in cells {
            bin.state = bin.state.max(cell.state);
            if let Some(n) = bin.states.get_mut(cell.state as usize) {
                *n += 1;
            }
            if let Some((_, slowest, _)) = cell.time {
                bin.seconds = Some(bin.seconds.unwrap_or(0.0) + f64::from(slowest));
            }
            bin.time = cell.time.filter(|_| !several);
            several = true;
        }
        bin
    }

    /// The seconds that its bar stands for.
    pub(crate) const fn seconds(&self) -> Option<f64> {
        self.seconds
    }

    fn words(&self, columns: usize) -> String {
        let time = match (self.time, self.seconds) {
            (Some((fastest, slowest, rank)), _) => {
                let (fastest, slowest) = (duration(f64::from(fastest)), duration(f64::from(slowest)));
                let range = format!(", {fastest} to {slowest}, longest on rank {rank}");
                if fastest == slowest { format!(", {slowest}") } else { range }
            }
            (None, Some(seconds)) => format!(", together {}", duration(seconds)),
            (None, None) => String::new(),
        };
        if columns == 1 { format!("{}{time}", self.state.word()) } else { format!("{}{time}", counted(&self.states)) }
    }
}

/// `3 ok, 1 error`.
fn counted(states: &[u32; State::ALL.len()]) -> String {
    let word = |state: &State| {
        let n = states.get(*state as usize).copied().unwrap_or(0) as usize;
        (n > 0).then(|| format!("{} {}", count(n), state.word()))
    };
    State::ALL.iter().filter_map(word).collect::<Vec<_>>().join(", ")
}

/// A row in words.
pub(crate) fn summary(bins: &[Bin]) -> String {
    counted(&all_states(bins))
}

/// Those of a row that did not end well.
pub(crate) fn odd_ends(bins: &[Bin]) -> String {
    let mut states = all_states(bins);
    for state in [State::Ok, State::Empty, State::Absent] {
        if let Some(n) = states.get_mut(state as usize) {
            *n = 0;
        }
    }
    counted(&states)
}

fn all_states(bins: &[Bin]) -> [u32; State::ALL.len()] {
    let mut states = [0; State::ALL.len()];
    for bin in bins {
        states.iter_mut().zip(bin.states).for_each(|(sum, n)| *sum += n);
    }
    states
}

/// What a row of ranks is called.
pub(crate) fn row_label(ranks: &[i32]) -> String {
    let list = rank_list(ranks);
    if ranks.len() > 2 { format!("{list} ({})", plural(ranks.len(), "rank")) } else { list }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(n: usize, most: u32) -> Columns {
        let column = |n: usize| Column { id: format!("{n}/0"), name: format!("f{n}") };
        Columns::new((0..n).map(column).collect(), most)
    }

    const fn cell(state: State, seconds: f32) -> Cell {
        Cell { state, time: Some((seconds, seconds, 0)) }
    }

    fn text(markup: &Markup) -> String {
        markup.clone().into_value().to_string()
    }

    #[test]
    fn few_compiles_have_a_column_each() {
        let columns = columns(3, 64);
        let cells = [cell(State::Ok, 2.5), cell(State::Error, 0.5), Cell { state: State::Absent, time: None }];
        let bins = columns.binned(cells.into_iter());
        assert_eq!((columns.each(), bins.len()), (1, 3));
        assert_eq!(summary(&bins), "1 ok, 1 error, 1 not there");
        assert_eq!(odd_ends(&bins), "1 error");
        let row = text(&columns.titled(&bins, 2.5, "rank 2"));
        for title in ["0/0 f0: ok, 2.50 s", "1/0 f1: error, 500 ms", "2/0 f2: not there"] {
            assert!(row.contains(&format!("<title>{title}</title>")), "{title}: {row}");
        }
        assert!(row.contains("aria-label=\"rank 2: 1 ok, 1 error, 1 not there\""));
        assert!(row.contains("class=\"error line\"") && row.contains("class=\"none line\""));
        assert_eq!(row.matches("class=\"ok\"").count(), 1, "what is not there has no bar");
    }

    #[test]
    fn the_longest_has_the_tallest_bar_and_the_shortest_is_seen() {
        let columns = columns(2, 64);
        let bins = columns.binned([cell(State::Ok, 60.0), cell(State::Ok, 0.001)].into_iter());
        let heights: Vec<String> =
            bins.iter().zip([0, 36]).map(|(bin, x)| columns.bar(x, bin, 60.0).unwrap()).collect();
        assert_eq!(heights, ["M0 11h35v17h-35z", "M36 27h35v1h-35z"]);
        // No time at all is no reason to divide by zero.
        assert_eq!(columns.bar(0, &Bin::of([cell(State::Ok, 0.0)].into_iter()), 0.0).unwrap(), "M0 27h35v1h-35z");
    }

    #[test]
    fn many_compiles_share_columns_and_the_worst_is_seen() {
        let columns = columns(2000, 64);
        let error = |n| if n == 77 { State::Error } else { State::Ok };
        let bins = columns.binned((0..2000).map(|n| cell(error(n), 1.0)));
        assert_eq!((columns.each(), bins.len()), (32, 63));
        assert_eq!(bins.iter().filter(|bin| bin.state == State::Error).count(), 1);
        assert_eq!(columns.title(2, &bins[2]), "64/0 to 95/0: 31 ok, 1 error, together 32.00 s");
        assert_eq!(columns.title(62, &bins[62]), "1984/0 to 1999/0: 16 ok, together 16.00 s");
        let row = text(&columns.plain(&bins, 32.0, "rank 5"));
        assert_eq!(row.matches("<path").count(), 3, "{row}");
        assert!(row.len() < 2500, "{}", row.len());
    }

    #[test]
    fn five_hundred_ranks_of_noise_are_small() {
        let few = columns(2000, 48);
        let columns = columns(2000, 64);
        // Nothing is like its neighbour.
        let noise = |rank: usize, n: usize| State::ALL[(rank * 7 + n * n * 31 + n / 3) % State::ALL.len()];
        let time = |n: usize| [0.001, 0.3, 2.0, 60.0][n % 4];
        let row =
            |columns: &Columns, rank: usize| columns.binned((0..2000).map(|n| cell(noise(rank, n), time(rank + n))));
        let plain: usize =
            (0..512).map(|rank| text(&few.plain(&row(&few, rank), 600.0, &format!("rank {rank}"))).len()).sum();
        assert!(plain < 1_150_000, "{plain}");
        let titled: usize = (0..24).map(|rank| text(&columns.titled(&row(&columns, rank), 600.0, "rank")).len()).sum();
        assert!(titled < 450_000, "{titled}");
    }

    #[test]
    fn what_one_rank_lacks_is_seen_in_a_column_of_many() {
        let columns = columns(4, 2);
        let absent = Cell { state: State::Absent, time: None };
        let bins =
            columns.binned([cell(State::Ok, 1.0), absent, cell(State::Break, 1.0), cell(State::Ok, 1.0)].into_iter());
        assert_eq!((bins[0].state, bins[0].seconds), (State::Absent, Some(1.0)));
        assert_eq!(bins[1].state, State::Break);
    }

    #[test]
    fn ranks_that_are_alike_say_which_was_slowest() {
        let columns = columns(1, 64);
        let bins = columns.binned([Cell { state: State::Ok, time: Some((0.5, 31.0, 77)) }].into_iter());
        assert_eq!(columns.title(0, &bins[0]), "0/0 f0: ok, 500 ms to 31.00 s, longest on rank 77");
        assert_eq!(row_label(&[0, 1, 2, 5]), "ranks 0–2, 5 (4 ranks)");
        assert_eq!(row_label(&[7]), "rank 7");
    }

    #[test]
    fn a_name_of_a_log_is_never_markup() {
        let hostile = "</title></svg><script>alert(1)</script>\"'&".to_owned();
        let columns = Columns::new(vec![Column { id: hostile.clone(), name: hostile.clone() }], 64);
        let bins = columns.binned([cell(State::Ok, 1.0)].into_iter());
        let all = [columns.titled(&bins, 1.0, &hostile), columns.plain(&bins, 1.0, &hostile), columns.axis()];
        for row in all.iter().map(text) {
            assert!(!row.contains("<script") && !row.contains("alert(1)</script>"), "{row}");
            assert_eq!(row.matches("</svg>").count(), 1, "{row}");
        }
    }

    #[test]
    fn nothing_compiled_is_an_empty_row() {
        let columns = columns(0, 64);
        assert!(columns.is_empty());
        assert_eq!(columns.binned(std::iter::empty()), []);
        assert!(text(&columns.plain(&[], 0.0, "rank 0")).contains("width=\"1\""));
    }
}
