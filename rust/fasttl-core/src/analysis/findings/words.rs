//! How findings say numbers, places and lists.

use crate::format::code_place::{CodePlace, file_name};
use crate::format::graph_break;
use crate::format::text::shorten;

/// `84 s`, `2.4 s`, `0.31 s`.
pub(super) fn seconds(seconds: f64) -> String {
    if seconds >= 10.0 {
        format!("{seconds:.0} s")
    } else if seconds >= 1.0 {
        format!("{seconds:.1} s")
    } else {
        format!("{seconds:.2} s")
    }
}

/// `1 compile`, `3 compiles`.
pub(super) fn count(number: u64, one: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {one}s") }
}

/// `once`, `twice`, `9 times`.
pub(super) fn times(number: u64) -> String {
    match number {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        more => format!("{more} times"),
    }
}

/// `a share of 84 %` as whole percents.
pub(super) fn percent(part: f64, whole: f64) -> String {
    format!("{:.0} %", 100.0 * part / whole)
}

/// The first few, and that there are more: `2, 3, 4, …`.
pub(super) fn few(list: &[String], most: usize) -> String {
    let mut text = list.iter().take(most).cloned().collect::<Vec<_>>().join(", ");
    if list.len() > most {
        text += ", …";
    }
    text
}

/// A function with its place: `` `forward` (model.py:12) ``.
pub(super) fn code(name: Option<&str>, file: Option<&str>, line: Option<i64>) -> String {
    let name = name.map_or("a frame without a name".to_owned(), |name| format!("`{}`", short(name)));
    match file.map(|file| place(file, line)) {
        Some(place) => format!("{name} ({place})"),
        None => name,
    }
}

/// The file's own name and the line; the evidence has the whole path.
pub(super) fn place(file: &str, line: Option<i64>) -> String {
    let file = file_name(file);
    line.map_or_else(|| short(file), |line| format!("{}:{line}", short(file)))
}

/// The same of a place.
pub(super) fn at(place_of: &CodePlace) -> String {
    place(&place_of.file, place_of.line)
}

/// A text cut to what a sentence holds, on one line.
pub(super) fn short(text: &str) -> String {
    shorten(text.trim().lines().next().unwrap_or_default().trim_end(), 160)
}

/// The words of an error's message that say what went wrong: its first line, and the next where that only leads up to
/// it; behind the first line of one of Dynamo's own messages, the error that it quotes.
pub(crate) fn failure_words(message: &str) -> String {
    let first = first_words(message);
    let quoted = graph_break::parse(message).explanation;
    let quoted = quoted.as_deref().and_then(|text| text.rsplit_once(": got ")).map(|(_, error)| error.to_owned());
    match quoted {
        Some(error) => format!("{first}: {}", ends(&error)),
        None => first,
    }
}

/// The first line of a message, and the next where the first only leads up to it.
pub(crate) fn first_words(message: &str) -> String {
    let mut lines = message.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    match lines.next() {
        Some(next) if first.ends_with(':') => format!("{first} {next}"),
        _ => first.to_owned(),
    }
}

/// A text of one line cut to what a sentence holds, its begin and its end: errors say what went wrong in either.
pub(super) fn ends(text: &str) -> String {
    const BEGIN: usize = 120;
    const END: usize = 90;
    let line = text.trim().lines().next().unwrap_or_default().trim_end();
    let starts: Vec<usize> = line.char_indices().map(|(at, _)| at).collect();
    let (Some(begin), Some(end)) = (starts.get(BEGIN), starts.len().checked_sub(END).and_then(|n| starts.get(n)))
    else {
        return line.to_owned();
    };
    if starts.len() <= BEGIN + END {
        return line.to_owned();
    }
    format!("{} … {}", line.get(..*begin).unwrap_or_default(), line.get(*end..).unwrap_or_default())
}

/// A text without the names that Python gives temporary files and folders, such as `tmpsodhu1ka`.
pub(crate) fn without_temporary(text: &str) -> String {
    const LETTERS: usize = 8;
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("tmp") {
        out.push_str(before);
        out.push_str("tmp");
        let name =
            after.find(|c: char| !(c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')).unwrap_or(after.len());
        rest = if name == LETTERS { after.get(name..).unwrap_or_default() } else { after };
    }
    out.push_str(rest);
    out
}

/// A text as a sentence begins.
pub(super) fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().collect::<String>() + chars.as_str())
}

/// On which ranks, where the logs have some: ` on ranks 0, 2`.
pub(super) fn on_ranks(ranks: &[i32]) -> String {
    if ranks.is_empty() { String::new() } else { format!(" on {}", crate::analysis::ranks::rank_list(ranks)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_places_read_well() {
        assert_eq!([84.2, 2.44, 0.306].map(seconds), ["84 s", "2.4 s", "0.31 s"]);
        assert_eq!([1, 2, 9].map(times), ["once", "twice", "9 times"]);
        assert_eq!(code(Some("f"), Some("/a/b.py"), Some(3)), "`f` (b.py:3)");
        assert_eq!(code(None, None, None), "a frame without a name");
        assert_eq!(short("a\nb"), "a");
        assert_eq!(short(&"é".repeat(200)).chars().count(), 161);
        assert_eq!(ends(&"ab".repeat(200)).chars().count(), 213);
        assert_eq!(ends("short\nline"), "short");
        assert_eq!(without_temporary("/tmp/tmpsodhu1ka/main.c tmpx /tmp/y"), "/tmp/tmp/main.c tmpx /tmp/y");
        assert_eq!(few(&["1".to_owned(), "2".to_owned(), "3".to_owned()], 2), "1, 2, …");
    }
}
