//! What stands behind a guard's condition: the line of the program that it comes from, and remarks.
//!
//! `x = f(y)  # place/a.py:7 in f (HINT: …)`. The line may have a comment of its own, and may be missing. In
//! brackets stand a hint, or where in the framework a condition on sizes was added, or a sentence.

/// What a comment says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Comment<'t> {
    /// Where in the program; the first place where it names several.
    pub user: Option<Place<'t>>,
    /// Where in the framework, as it stands: `file:line in function`.
    pub framework: Option<&'t str>,
    /// PyTorch's hint.
    pub hint: Option<&'t str>,
}

/// A line of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place<'t> {
    /// Its text.
    pub code: Option<&'t str>,
    /// Its file, as PyTorch shortens it.
    pub file: &'t str,
    /// Its number.
    pub line: Option<i64>,
    /// The function.
    pub function: &'t str,
}

/// What begins the part of a comment that tells the place.
const MARK: &str = "  # ";

/// Reads a comment. What it does not understand is left out.
///
/// ```
/// use fasttl_core::format::guards::comment::parse;
///
/// let found = parse("return x + 1  # job/a.py:7 in f (HINT: type Linear)");
/// let place = found.user.unwrap();
/// assert_eq!((place.code, place.file, place.line, place.function), (Some("return x + 1"), "job/a.py", Some(7), "f"));
/// assert_eq!(found.hint, Some("type Linear"));
/// ```
pub fn parse(text: &str) -> Comment<'_> {
    let hinted = text.strip_suffix(')').and_then(|text| text.rsplit_once("(HINT: "));
    let (text, hint) = match hinted {
        Some((text, hint)) => (text.trim_end(), Some(hint)),
        None => (text, None),
    };
    if text.starts_with('(') {
        return Comment { user: None, framework: bracketed(text), hint };
    }
    let Some(found) = find_place(text) else { return Comment { hint, ..Comment::default() } };
    let place = found.place;
    // Without its line, a place in Dynamo is where the guard was made and no code that was compiled.
    if place.code.is_none() && place.file.starts_with("_dynamo/") {
        return Comment { user: None, framework: text.get(found.from..found.to), hint };
    }
    let rest = text.get(found.to..).unwrap_or_default();
    Comment { user: Some(place), framework: rest.strip_prefix(' ').and_then(bracketed), hint }
}

/// The place that a text begins with in brackets.
fn bracketed(text: &str) -> Option<&str> {
    let (inner, _) = text.strip_prefix('(')?.split_once(')')?;
    let (colon, _) = lines_in(inner).next()?;
    Some(inner).filter(|_| colon > 0)
}

/// A place, and where it begins and ends.
struct Found<'t> {
    place: Place<'t>,
    from: usize,
    to: usize,
}

/// The first place in a text.
fn find_place(text: &str) -> Option<Found<'_>> {
    // A line of code may have what looks like a line number, but never what begins the place.
    let first = text.find(MARK);
    let mut from = 0;
    let mut passed = 0;
    let mut other = None;
    for (colon, after) in lines_in(text).filter(|(colon, _)| first.is_none_or(|first| *colon > first)) {
        let between = text.get(passed..colon).unwrap_or_default();
        from = between.rfind(MARK).map_or(from, |at| passed + at + MARK.len());
        passed = colon;
        let file = text.get(from..colon).unwrap_or_default();
        if file.strip_suffix(".py").is_some() || file.starts_with('<') {
            return Some(place_at(text, from, colon, after));
        }
        if !file.is_empty() {
            other = other.or(Some((from, colon, after)));
        }
    }
    other.map(|(from, colon, after)| place_at(text, from, colon, after))
}

/// Where `:<digits> in ` stands in a text: its begin and its end.
fn lines_in(text: &str) -> impl Iterator<Item = (usize, usize)> {
    memchr::memchr_iter(b':', text.as_bytes()).filter_map(|colon| {
        let rest = text.get(colon + 1..)?;
        let name = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let function = name.strip_prefix(" in ").filter(|_| name.len() < rest.len())?;
        Some((colon, text.len() - function.len()))
    })
}

fn place_at(text: &str, from: usize, colon: usize, after: usize) -> Found<'_> {
    let tail = text.get(after..).unwrap_or_default();
    let ends = [tail.find(" ("), tail.find(" and ")].into_iter().flatten().min();
    let to = after + ends.unwrap_or(tail.len());
    let code = text.get(..from.saturating_sub(MARK.len())).unwrap_or_default().trim();
    let line = text.get(colon + 1..after).and_then(|line| line.strip_suffix(" in "));
    let place = Place {
        code: Some(code).filter(|code| !code.is_empty()),
        file: text.get(from..colon).unwrap_or_default(),
        line: line.and_then(|line| line.parse().ok()),
        function: text.get(after..to).unwrap_or_default(),
    };
    Found { place, from, to }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(text: &str) -> (Option<&str>, &str, i64, &str) {
        let place = parse(text).user.unwrap();
        (place.code, place.file, place.line.unwrap(), place.function)
    }

    #[test]
    fn lines_with_comments_of_their_own() {
        let found = user("if x.shape[0] > 4:      # see a:3 in b  # job/a.py:12 in marked");
        assert_eq!(found, (Some("if x.shape[0] > 4:      # see a:3 in b"), "job/a.py", 12, "marked"));
        assert_eq!(
            user("y = x[:1 in z]  # <eval_with_key>.5:35 in f"),
            (Some("y = x[:1 in z]"), "<eval_with_key>.5", 35, "f")
        );
        assert_eq!(user("f()  # bin/tool:3 in <module>"), (Some("f()"), "bin/tool", 3, "<module>"));
        assert_eq!(user("g(é)  # é ö.py:3 in ü"), (Some("g(é)"), "é ö.py", 3, "ü"));
        assert_eq!(user("x  # a.py:1 in new\nline\ttab").3, "new\nline\ttab");
    }

    #[test]
    fn places_without_a_line_of_code() {
        assert_eq!(user("job/long_line.py:9 in f"), (None, "job/long_line.py", 9, "f"));
        let made = parse("_dynamo/output_graph.py:1135 in init_ambient_guards");
        assert_eq!((made.user, made.framework), (None, Some("_dynamo/output_graph.py:1135 in init_ambient_guards")));
        // With its line, it is code that was compiled.
        assert_eq!(user("res = f()  # _dynamo/functional_export.py:232 in forward").1, "_dynamo/functional_export.py");
    }

    #[test]
    fn conditions_on_sizes_name_the_framework_too() {
        let both = "torch._check(k >= 2)  # a.py:34 in f (_dynamo/utils.py:4231 in run_node) and g()  # a.py:35 in f";
        assert_eq!(user(both), (Some("torch._check(k >= 2)"), "a.py", 34, "f"));
        assert_eq!(parse(both).framework, Some("_dynamo/utils.py:4231 in run_node"));
        let alone = parse("(_dynamo/variables/builder.py:4960 in <lambda>)");
        assert_eq!((alone.user, alone.framework), (None, Some("_dynamo/variables/builder.py:4960 in <lambda>")));
        let sentence =
            "x()  # a.py:4 in g (user code shown is first use of this value; try mark_unbacked(tensor, dim))";
        assert_eq!((user(sentence).3, parse(sentence).framework, parse(sentence).hint), ("g", None, None));
    }

    #[test]
    fn hints() {
        let found = parse("x  # a.py:4 in g (HINT: guard on \"a\" (see b))");
        assert_eq!(found.hint, Some("guard on \"a\" (see b)"));
        assert_eq!(found.user.unwrap().function, "g");
        assert_eq!(parse("(HINT: alone)"), Comment { hint: Some("alone"), ..Comment::default() });
    }

    #[test]
    fn what_names_no_place() {
        let none =
            ["", "<unknown>", "(unknown source L['w'].stride()[0], please file a bug)", "a.py:x in f", ":3 in f", "("];
        for text in none {
            assert_eq!(parse(text), Comment::default(), "{text}");
        }
        assert_eq!(parse("a.py:99999999999999999999 in f").user.unwrap().line, None);
    }
}
