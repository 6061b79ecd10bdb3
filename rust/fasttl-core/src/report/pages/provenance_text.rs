//! The lines of a text that a pane shows: all of a small one, of a large one those that are tied and their
//! neighbours.

use serde::Serialize;

use super::common::count;

/// Lines that all panes of a page show together.
const PAGE_LINES: usize = 40_000;
/// Bytes of these.
const PAGE_BYTES: usize = 12 << 20;
/// Lines that one text may show.
const TEXT_LINES: usize = 4_000;
/// Lines that stay around a tied one.
const AROUND: usize = 12;
/// Bytes of one line.
const LINE_BYTES: usize = 8_000;
/// Lines that one line's data names.
const TARGETS: usize = 2_000;

/// What one text may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    lines: usize,
    bytes: usize,
}

/// Which lines of a text are shown.
#[derive(Debug)]
pub(super) struct Choice {
    /// Numbers of the first line and of the one after the last, ascending.
    ranges: Vec<(usize, usize)>,
    total: usize,
    tied_left_out: usize,
}

/// Lines that stand together; what is left out before them is said.
#[derive(Debug, Serialize)]
pub(super) struct Block {
    gap: String,
    lines: Vec<Line>,
}

#[derive(Debug, Serialize)]
struct Line {
    n: usize,
    id: String,
    first: Option<String>,
    to: String,
    text: String,
}

impl Budget {
    /// The share of each of so many texts.
    pub(super) fn shared_by(texts: usize) -> Self {
        let texts = texts.max(1);
        Self { lines: (PAGE_LINES / texts).clamp(100, TEXT_LINES), bytes: (PAGE_BYTES / texts).max(50_000) }
    }

    /// Chooses the lines of a text of which `tied` (ascending) belong to others.
    pub(super) fn choose(self, text: &[u8], tied: &[usize]) -> Choice {
        let mut lens: Vec<usize> = text.split(|&b| b == b'\n').map(|line| line.len().min(LINE_BYTES) + 1).collect();
        if text.ends_with(b"\n") || text.is_empty() {
            lens.pop();
        }
        let total = lens.len();
        let fits = total <= self.lines && lens.iter().sum::<usize>() <= self.bytes;
        let wanted: Vec<(usize, usize)> = if fits || tied.is_empty() {
            vec![(1, total + 1)]
        } else {
            let head = (1, (2 * AROUND).min(total + 1));
            let around = tied.iter().map(|&n| (n.saturating_sub(AROUND).max(1), (n + AROUND + 1).min(total + 1)));
            std::iter::once(head).chain(around).collect()
        };
        let (mut ranges, mut lines, mut bytes): (Vec<(usize, usize)>, usize, usize) = (Vec::new(), 0, 0);
        'all: for (from, to) in wanted {
            let from = ranges.last().map_or(from, |last| from.max(last.1));
            for n in from..to {
                bytes += lens.get(n - 1).copied().unwrap_or(0);
                lines += 1;
                if lines > self.lines || bytes > self.bytes {
                    break 'all;
                }
                match ranges.last_mut() {
                    Some(last) if last.1 == n => last.1 = n + 1,
                    _ => ranges.push((n, n + 1)),
                }
            }
        }
        let end = ranges.last().map_or(0, |last| last.1);
        Choice { ranges, total, tied_left_out: tied.iter().filter(|&&n| n >= end).count() }
    }
}

impl Choice {
    /// Numbers of the lines.
    pub(super) fn lines(&self) -> impl Iterator<Item = usize> {
        self.ranges.iter().flat_map(|&(from, to)| from..to)
    }

    /// What is left out, in words.
    pub(super) fn note(&self) -> String {
        let shown = self.lines().count();
        if shown == self.total {
            return String::new();
        }
        let mut note = format!("{} of {} lines are shown; the file has all.", count(shown), count(self.total));
        if self.tied_left_out > 0 {
            note += &format!(" {} that belong to others are not among them.", count(self.tied_left_out));
        }
        note
    }
}

/// The chosen lines; `id` names one, and `to` gives the names of those that belong to it.
pub(super) fn blocks(
    text: &[u8],
    choice: &Choice,
    id: impl Fn(usize) -> String,
    to: impl Fn(usize) -> Vec<String>,
) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut ranges = choice.ranges.iter().copied().peekable();
    let mut before = 1;
    for (n, line) in (1..).zip(text.split(|&b| b == b'\n')) {
        while ranges.next_if(|&(_, end)| n >= end).is_some() {}
        let Some(&(from, _)) = ranges.peek() else { break };
        if n < from {
            continue;
        }
        if n == from {
            let gap = if from > before { format!("{} lines left out", count(from - before)) } else { String::new() };
            blocks.push(Block { gap, lines: Vec::new() });
        }
        before = n + 1;
        let mut targets = to(n);
        targets.truncate(TARGETS);
        let made = Line { n, id: id(n), first: targets.first().cloned(), to: targets.join(" "), text: shown(line) };
        if let Some(block) = blocks.last_mut() {
            block.lines.push(made);
        }
    }
    blocks
}

fn shown(line: &[u8]) -> String {
    let visible = String::from_utf8_lossy(line.get(..line.len().min(LINE_BYTES)).unwrap_or_default());
    let mut visible = visible.into_owned();
    if line.len() > LINE_BYTES {
        visible += &format!(" … and {} bytes more", count(line.len() - LINE_BYTES));
    }
    visible
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(lines: usize) -> Vec<u8> {
        (1..=lines).flat_map(|n| format!("line {n}\n").into_bytes()).collect()
    }

    #[test]
    fn small_texts_are_whole() {
        let choice = Budget::shared_by(3).choose(&text(100), &[3]);
        assert_eq!((choice.lines().collect::<Vec<_>>(), choice.note().as_str()), ((1..=100).collect(), ""));
        let blocks = blocks(b"a\nb", &Budget::shared_by(1).choose(b"a\nb", &[]), |n| n.to_string(), |_| Vec::new());
        assert_eq!(blocks[0].lines.iter().map(|l| l.text.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    }

    #[test]
    fn large_texts_keep_what_is_tied() {
        let large = text(100_000);
        let choice = Budget::shared_by(3).choose(&large, &[50_000, 99_999]);
        let lines: Vec<usize> = choice.lines().collect();
        assert!(lines.contains(&50_000) && lines.contains(&100_000) && lines.len() < 100, "{lines:?}");
        let made = blocks(&large, &choice, |n| format!("L{n}"), |n| vec![n.to_string()]);
        assert_eq!(made.iter().map(|b| b.lines.len()).sum::<usize>(), lines.len());
        assert_eq!(made[1].gap, "49,964 lines left out");
        let all: Vec<usize> = (1..=100_000).collect();
        let choice = Budget::shared_by(3).choose(&large, &all);
        assert_eq!(choice.lines().count(), TEXT_LINES);
        assert!(choice.note().contains("96,000 that belong to others"), "{}", choice.note());
    }
}
