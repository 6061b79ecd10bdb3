//! Two texts beside each other: the lines that are equal folded, in the others the words that differ marked.

use super::common::{clipped, count, plural};
use crate::analysis::diff::texts::{Run, Words, aligned, words};
use crate::report::html::Markup;

/// Bytes and lines of a text that are shown.
const MOST_BYTES: usize = 128 << 10;
const MOST_LINES: usize = 3_000;
/// Bytes of a line.
const LONGEST: usize = 2_000;
/// Equal lines that stand around what differs.
const CONTEXT: usize = 3;
/// Equal lines of a fold.
const IN_FOLD: usize = 200;

/// A text of one side.
#[derive(Clone, Debug, Default)]
pub(crate) struct SideText {
    lines: Vec<String>,
    /// What is not shown of it.
    left_out: Option<String>,
}

impl SideText {
    /// As much of a text as a page shows.
    pub(crate) fn of(text: &str) -> Self {
        let end = (0..=MOST_BYTES.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let shown = text.get(..end).unwrap_or_default().trim_matches('\n');
        let lines: Vec<String> = if shown.is_empty() {
            Vec::new()
        } else {
            shown.lines().take(MOST_LINES).map(|line| clipped(line, LONGEST)).collect()
        };
        let more = end < text.len() || shown.lines().nth(MOST_LINES).is_some();
        let left_out = more
            .then(|| format!("the first {} of {} bytes are compared", plural(lines.len(), "line"), count(text.len())));
        Self { lines, left_out }
    }

    /// What is not shown of it.
    pub(crate) fn left_out(&self) -> Option<&str> {
        self.left_out.as_deref()
    }

    /// Bytes that it takes.
    #[cfg(test)]
    fn bytes(&self) -> usize {
        self.lines.iter().map(|line| line.len() + 24).sum()
    }
}

/// Two texts beside each other.
#[derive(Clone, Debug)]
pub(crate) struct SideBySide {
    /// Their lines, as tables.
    pub(crate) body: Markup,
    /// How much differs, in a sentence.
    pub(crate) sentence: String,
}

/// Puts two texts beside each other.
pub(crate) fn side_by_side(a: &SideText, b: &SideText) -> SideBySide {
    let lines = |text: &SideText| -> Vec<String> { text.lines.clone() };
    let (of_a, of_b) = (lines(a), lines(b));
    let (of_a, of_b): (Vec<&str>, Vec<&str>) =
        (of_a.iter().map(String::as_str).collect(), of_b.iter().map(String::as_str).collect());
    let (runs, refused) = match aligned(&of_a, &of_b) {
        Ok(runs) => (runs, None),
        Err(why) => (vec![Run::Other(0..of_a.len(), 0..of_b.len())], Some(why)),
    };
    let mut body = Markup::default();
    let (mut places, mut differ) = (0_usize, (0_usize, 0_usize));
    let last = runs.len().saturating_sub(1);
    for (nth, run) in runs.into_iter().enumerate() {
        match run {
            Run::Same(in_a, in_b) => {
                let pairs: Vec<Pair<'_>> = in_a.zip(in_b).map(|(a, b)| Pair::of((&of_a, a), (&of_b, b))).collect();
                equal(&pairs, (nth > 0, nth < last), &mut body);
            }
            Run::Other(in_a, in_b) => {
                places += 1;
                differ = (differ.0 + in_a.len(), differ.1 + in_b.len());
                let length = in_a.len().max(in_b.len());
                let number = |from: usize, to: usize, nth: usize| (from + nth < to).then_some(from + nth);
                table(&mut body, |out| {
                    for nth in 0..length {
                        let (a, b) = (number(in_a.start, in_a.end, nth), number(in_b.start, in_b.end, nth));
                        changed(a.and_then(|n| line(&of_a, n)), b.and_then(|n| line(&of_b, n)), out);
                    }
                });
            }
        }
    }
    let sentence = match (refused, places) {
        (Some(why), _) => format!("The texts were {why}."),
        (None, 0) => "Nothing differs in what is shown but addresses and folders.".to_owned(),
        (None, n) => {
            let (first, second, places) = (plural(differ.0, "line"), plural(differ.1, "line"), plural(n, "place"));
            match differ {
                (_, 0) => format!("{first} only in the first text, in {places}."),
                (0, _) => format!("{second} only in the second text, in {places}."),
                _ => format!("{first} of the first text and {second} of the second differ, in {places}."),
            }
        }
    };
    SideBySide { body, sentence }
}

type Line<'t> = (usize, &'t str);

fn line<'t>(lines: &[&'t str], at: usize) -> Option<Line<'t>> {
    lines.get(at).map(|text| (at, *text))
}

/// Two lines that are equal but for noise.
struct Pair<'t> {
    a: Line<'t>,
    b: Line<'t>,
}

impl<'t> Pair<'t> {
    fn of((of_a, a): (&[&'t str], usize), (of_b, b): (&[&'t str], usize)) -> Self {
        let text = |lines: &[&'t str], at: usize| (at, lines.get(at).copied().unwrap_or_default());
        Self { a: text(of_a, a), b: text(of_b, b) }
    }
}

/// Equal lines: some beside what differs before and after them, the others folded.
fn equal(pairs: &[Pair<'_>], (before, after): (bool, bool), out: &mut Markup) {
    let (head, tail) = (if before { CONTEXT } else { 0 }, if after { CONTEXT } else { 0 });
    // A fold of a line or two is no gain.
    if pairs.len() <= head + tail + 2 {
        return rows(pairs, out);
    }
    let (first, rest) = pairs.split_at(head);
    let (folded, last) = rest.split_at(rest.len() - tail);
    rows(first, out);
    out.tag("<details class=\"fold\"><summary>").text(&plural(folded.len(), "equal line")).tag("</summary>");
    rows(folded.get(..IN_FOLD.min(folded.len())).unwrap_or_default(), out);
    if let Some(more) = folded.len().checked_sub(IN_FOLD).filter(|more| *more > 0) {
        out.tag("<p class=\"n\">").text(&plural(more, "more equal line")).tag(": the records have them.</p>");
    }
    out.tag("</details>");
    rows(last, out);
}

fn rows(pairs: &[Pair<'_>], out: &mut Markup) {
    if pairs.is_empty() {
        return;
    }
    table(out, |out| {
        for pair in pairs {
            out.tag("<tr>");
            for (number, text) in [pair.a, pair.b] {
                out.tag("<td class=\"no\">").text(&(number + 1).to_string()).tag("</td><td class=\"txt\">");
                out.text(text).tag("</td>");
            }
            out.tag("</tr>\n");
        }
    });
}

fn table(out: &mut Markup, fill: impl FnOnce(&mut Markup)) {
    out.tag("<table class=\"side\"><colgroup><col class=\"no\"><col><col class=\"no\"><col></colgroup><tbody>\n");
    fill(out);
    out.tag("</tbody></table>");
}

/// Lines that differ; one of both may be missing.
fn changed(a: Option<Line<'_>>, b: Option<Line<'_>>, out: &mut Markup) {
    let (of_a, of_b) = match (a, b) {
        (Some((_, a)), Some((_, b))) => words(a, b),
        _ => (Vec::new(), Vec::new()),
    };
    out.tag("<tr>");
    let sides = [(a, &of_a, "− ", "<td class=\"txt gone\">"), (b, &of_b, "+ ", "<td class=\"txt came\">")];
    for (side, words, sign, cell) in sides {
        let Some((number, text)) = side else {
            out.tag("<td class=\"no\"></td><td class=\"gap\"></td>");
            continue;
        };
        out.tag("<td class=\"no\">").text(sign).text(&(number + 1).to_string()).tag("</td>").tag(cell);
        if words.is_empty() {
            out.text(text);
        }
        for part in words {
            marked(part, out);
        }
        out.tag("</td>");
    }
    out.tag("</tr>\n");
}

fn marked(part: &Words<'_>, out: &mut Markup) {
    if part.changed {
        out.tag("<mark>").text(part.text).tag("</mark>");
    } else {
        out.text(part.text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(a: &str, b: &str) -> (String, String) {
        let found = side_by_side(&SideText::of(a), &SideText::of(b));
        (found.body.into_value().to_string(), found.sentence)
    }

    #[test]
    fn lines_stand_beside_each_other_with_their_numbers() {
        let (body, sentence) = pair("a\nx = 8\nz\n", "a\nx = 5\ny\nz");
        assert_eq!(sentence, "1 line of the first text and 2 lines of the second differ, in 1 place.");
        let row = "<td class=\"no\">− 2</td><td class=\"txt gone\">x = <mark>8</mark></td>\
                   <td class=\"no\">+ 2</td><td class=\"txt came\">x = <mark>5</mark></td>";
        assert!(body.contains(row), "{body}");
        assert!(body.contains("<td class=\"no\"></td><td class=\"gap\"></td><td class=\"no\">+ 3</td>"), "{body}");
        assert!(body.contains("<td class=\"no\">3</td><td class=\"txt\">z</td><td class=\"no\">4</td>"), "{body}");
    }

    #[test]
    fn equal_lines_far_from_a_difference_are_folded() {
        let lines: Vec<String> = (0..1000).map(|n| format!("line {n}")).collect();
        let a = lines.join("\n");
        let (body, sentence) = pair(&a, &a.replace("line 500\n", "other\n"));
        assert_eq!(sentence, "1 line of the first text and 1 line of the second differ, in 1 place.");
        assert!(body.contains("<summary>497 equal lines</summary>"), "{body}");
        assert!(body.contains("<summary>496 equal lines</summary>"), "{body}");
        assert!(body.contains("297 more equal lines: the records have them."), "{body}");
        assert_eq!(body.matches("<details").count(), body.matches("</details>").count());
    }

    #[test]
    fn addresses_are_no_difference() {
        let (body, sentence) = pair("f at 0x7fdefc5d4410", "f at 0x7fdefc5d9999");
        assert_eq!(sentence, "Nothing differs in what is shown but addresses and folders.");
        assert!(!body.contains("<mark>") && body.contains("0x7fdefc5d9999"), "{body}");
    }

    #[test]
    fn nothing_of_a_text_is_markup() {
        let (body, _) = pair("</td><script>alert(1)</script>", "</td><script>alert(2)</script>");
        assert!(!body.contains("<script"), "{body}");
        assert!(body.contains("<mark>1</mark>"), "{body}");
    }

    #[test]
    fn large_texts_are_bounded_and_say_so() {
        let huge = "0123456789 abcdefgh\n".repeat(100_000);
        let text = SideText::of(&huge);
        assert_eq!(text.left_out(), Some("the first 3,000 lines of 2,000,000 bytes are compared"));
        let other = SideText::of(&"x y z w v u t s r q p\n".repeat(100_000));
        let page = side_by_side(&text, &other).body.into_value().to_string();
        assert!(page.len() < 1_500_000, "{}", page.len());
        // One line without an end.
        let line = SideText::of(&"é".repeat(1_000_000));
        assert!(line.bytes() < 3_000 && line.left_out().is_some());
        assert_eq!(SideText::of("\n\na\n").lines, ["a"]);
        assert!(SideText::of("").lines.is_empty());
    }
}
