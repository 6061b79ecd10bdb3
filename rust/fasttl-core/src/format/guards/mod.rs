//! The conditions under which compiled code may be used again, as PyTorch prints them.
//!
//! `dynamo_cpp_guards_str` is a tree: a line for each node, its depth as bars in front. Managers stand for values
//! of the program, leaves for the conditions on them. Names, repeated texts and source lines come from the program,
//! so that any of them may hold line feeds, quotes and what looks like the grammar itself. Here every line belongs
//! to some node: one that begins none goes on with the node before, and what stands before the first node is a
//! guard without a kind. `dynamo_guards` is a list in JSON; see [`list`].

pub mod comment;
pub mod ids;
pub mod list;

use super::python::{Unclosed, outside_of_strings};

/// A tree of guards.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GuardTree<'t> {
    /// Its leaves, in the order of the text.
    pub guards: Vec<Guard<'t>>,
    /// Its other nodes: managers, and the pairs of key and value in a dict.
    pub managers: u64,
    /// Microseconds that a check takes, by PyTorch's own measurement; `None` where it did not measure.
    pub latency_us: Option<f64>,
}

/// A leaf of the tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Guard<'t> {
    /// What kind of guard it is, such as `TENSOR_MATCH`; `None` for text that is no guard.
    pub kind: Option<&'t str>,
    /// The condition. A guard on several values is printed in full once, and by its kind alone after that.
    pub code: Option<&'t str>,
    /// What stands behind the condition: where in the program it comes from, and what PyTorch says to it.
    pub comment: Option<&'t str>,
    /// The value that it is a condition on.
    pub manager: Manager<'t>,
    /// Bars in front of it; `None` for text that is no node.
    pub depth: Option<u32>,
}

/// A value of the program that guards look at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Manager<'t> {
    /// Its expression, such as `L['x']`; `None` at the root.
    pub source: Option<&'t str>,
    /// How it is reached from the value above it.
    pub accessed_by: Option<&'t str>,
    /// Its type, which early releases do not print.
    pub value_type: Option<&'t str>,
}

/// Reads the text of a `dynamo_cpp_guards_str` record. Any text is read, and all of it is in the result.
///
/// ```
/// use fasttl_core::format::guards::parse;
///
/// let tree = parse("\nTREE_GUARD_MANAGER:\n+- RootGuardManager\n| +- GuardManager: source=L['x']\n| | +- LENGTH_CHECK: len(L['x']) == 6\n");
/// assert_eq!((tree.managers, tree.guards.len()), (2, 1));
/// assert_eq!(tree.guards[0].kind, Some("LENGTH_CHECK"));
/// assert_eq!(tree.guards[0].manager.source, Some("L['x']"));
/// ```
pub fn parse(text: &str) -> GuardTree<'_> {
    let (body, latency_us) = without_latency(text);
    let mut tree = GuardTree { latency_us, ..GuardTree::default() };
    // The managers from the root to here, each with its depth.
    let mut above: Vec<(u32, Manager<'_>)> = Vec::new();
    let mut node = (None, 0);
    let mut at = 0;
    for line in body.split_inclusive('\n') {
        if let Some((depth, len)) = start(line) {
            add(&mut tree, &mut above, node.0, body.get(node.1..at));
            node = (Some(depth), at + len);
        }
        at += line.len();
    }
    add(&mut tree, &mut above, node.0, body.get(node.1..));
    tree
}

/// The text without its last line, which tells how long a check takes, and what it tells.
fn without_latency(text: &str) -> (&str, Option<f64>) {
    let text = text.trim_end();
    let last = text.rfind('\n').map_or(0, |at| at + 1);
    let number = text.get(last..).and_then(|line| line.strip_prefix("Guard latency = ")?.strip_suffix(" us"));
    match number.and_then(|number| number.parse::<f64>().ok()) {
        // Where nothing was measured, PyTorch prints 0.00.
        Some(us) => (text.get(..last).unwrap_or_default(), Some(us).filter(|us| us.is_finite() && *us > 0.0)),
        None => (text, None),
    }
}

/// Depth of the node that a line begins, and where its text begins.
fn start(line: &str) -> Option<(u32, usize)> {
    let mut rest = line;
    let mut depth = 0_u32;
    while let Some(below) = rest.strip_prefix("| ") {
        rest = below;
        depth = depth.saturating_add(1);
    }
    let text = rest.strip_prefix("+- ")?;
    Some((depth, line.len() - text.len()))
}

/// Adds the node with that text to the tree.
fn add<'t>(tree: &mut GuardTree<'t>, above: &mut Vec<(u32, Manager<'t>)>, depth: Option<u32>, text: Option<&'t str>) {
    let text = text.unwrap_or_default().trim_end();
    let Some(depth) = depth else {
        let text = text.trim_start();
        let text = text.strip_prefix("TREE_GUARD_MANAGER:").unwrap_or(text).trim();
        if !text.is_empty() {
            tree.guards.push(Guard { code: Some(text), ..Guard::default() });
        }
        return;
    };
    while above.last().is_some_and(|(other, _)| *other >= depth) {
        above.pop();
    }
    if word(text).ends_with("Manager") {
        tree.managers += 1;
        above.push((depth, manager(text)));
    } else {
        let manager = above.last().map(|(_, manager)| *manager).unwrap_or_default();
        tree.guards.push(Guard { manager, depth: Some(depth), ..leaf(text) });
    }
}

/// The letters, digits and underscores that a text begins with.
fn word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    text.get(..end).unwrap_or_default()
}

/// `GuardManager: source=L['x'], accessed_by=…, type=…, tag_safe=(False, False)`; a key or a value of a dict has
/// its part in front: `KeyManager: GuardManager: …`.
fn manager(text: &str) -> Manager<'_> {
    let mut rest = text;
    while let Some(below) = rest.strip_prefix(word(rest)).and_then(|rest| rest.strip_prefix(": ")) {
        rest = below;
    }
    let Some(fields) = rest.strip_prefix("source=") else { return Manager::default() };
    let fields = fields.rsplit_once(", tag_safe=(").map_or(fields, |(fields, _)| fields);
    let (fields, value_type) = match fields.rsplit_once(", type=") {
        Some((fields, value_type)) => (fields, Some(value_type)),
        None => (fields, None),
    };
    let (source, accessed_by) = split(fields, ", accessed_by=");
    Manager { source: Some(source), accessed_by, value_type }
}

/// `KIND: condition  # comment`
fn leaf(text: &str) -> Guard<'_> {
    let kind = word(text);
    let rest = text.strip_prefix(kind).unwrap_or_default();
    let condition = match rest.strip_prefix(':') {
        Some(condition) => condition,
        None if rest.is_empty() => "",
        None => return Guard { code: Some(text).filter(|text| !text.is_empty()), ..Guard::default() },
    };
    // The condition is padded to 60 columns.
    let (code, comment) = split(condition.strip_prefix(' ').unwrap_or(condition), "  # ");
    let given = |text: &&str| !text.is_empty();
    Guard {
        kind: Some(kind).filter(given),
        code: Some(code.trim_end()).filter(given),
        comment: comment.map(str::trim).filter(given),
        ..Guard::default()
    }
}

/// Cuts a text at the first `mark` outside of Python's strings; where a string does not end, at the first one.
fn split<'t>(text: &'t str, mark: &str) -> (&'t str, Option<&'t str>) {
    let found = outside_of_strings(text.as_bytes(), |_, rest| rest.starts_with(mark.as_bytes()));
    match found.unwrap_or_else(|Unclosed| text.find(mark)) {
        Some(at) => (text.get(..at).unwrap_or(text), text.get(at + mark.len()..)),
        None => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "\nTREE_GUARD_MANAGER:\n+- RootGuardManager\n\
        | +- DEFAULT_DEVICE: utils_device.CURRENT_DEVICE == None                           # _dynamo/output_graph.py:1122 in init_ambient_guards\n\
        | +- GuardManager: source=L['x'], accessed_by=FrameLocalsGuardAccessor(key='x', framelocals_idx=0), type=<class 'dict'>, tag_safe=(False, False)\n\
        | | +- NO_TENSOR_ALIASING: check_no_aliasing(L['x'], L['y'])\n\
        | | +- KeyValueManager pair at index=0\n\
        | | | +- KeyManager: GuardManager: source=list(dict.keys(L['x']))[0], type=<class 'str'>, tag_safe=(True, False)\n\
        | | | | +- EQUALS_MATCH: list(dict.keys(L['x']))[0] == 'a  # b'  # f(x)  # a.py:3 in f\n\
        | +- GuardManager: source=L['y'], accessed_by=DictGetItemGuardAccessor(y)\n\
        | | +- NO_TENSOR_ALIASING\n\
        +- LAMBDA_GUARD: 2 <= L['x'].size()[0]  # (a.py:7 in g)\n\nGuard latency = 12.34 us";

    #[test]
    fn leaves_know_the_value_above_them() {
        let tree = parse(TREE);
        assert_eq!((tree.managers, tree.latency_us), (5, Some(12.34)));
        let found: Vec<_> = tree.guards.iter().map(|g| (g.kind.unwrap(), g.depth.unwrap(), g.manager.source)).collect();
        assert_eq!(
            found,
            [
                ("DEFAULT_DEVICE", 1, None),
                ("NO_TENSOR_ALIASING", 2, Some("L['x']")),
                ("EQUALS_MATCH", 4, Some("list(dict.keys(L['x']))[0]")),
                ("NO_TENSOR_ALIASING", 2, Some("L['y']")),
                ("LAMBDA_GUARD", 0, None),
            ]
        );
        let x = tree.guards[1].manager;
        assert_eq!(x.accessed_by, Some("FrameLocalsGuardAccessor(key='x', framelocals_idx=0)"));
        assert_eq!(x.value_type, Some("<class 'dict'>"));
        let y = tree.guards[3].manager;
        assert_eq!((y.accessed_by, y.value_type), (Some("DictGetItemGuardAccessor(y)"), None));
        assert_eq!(tree.guards[2].manager.value_type, Some("<class 'str'>"));
    }

    #[test]
    fn conditions_end_where_their_comments_begin() {
        let guards = parse(TREE).guards;
        let text: Vec<_> = guards.iter().map(|g| (g.code, g.comment)).collect();
        assert_eq!(text[0].0, Some("utils_device.CURRENT_DEVICE == None"));
        assert_eq!(text[0].1, Some("_dynamo/output_graph.py:1122 in init_ambient_guards"));
        assert_eq!(text[1], (Some("check_no_aliasing(L['x'], L['y'])"), None));
        assert_eq!(text[2], (Some("list(dict.keys(L['x']))[0] == 'a  # b'"), Some("f(x)  # a.py:3 in f")));
        assert_eq!(text[3], (None, None));
    }

    #[test]
    fn a_quote_that_does_not_end_still_leaves_a_comment() {
        let guard = parse("+- X: it's  # f()  # a.py:1 in f").guards[0];
        assert_eq!((guard.code, guard.comment), (Some("it's"), Some("f()  # a.py:1 in f")));
    }

    #[test]
    fn a_source_may_hold_what_ends_it() {
        let text = "+- GuardManager: source=L[', accessed_by=x'], accessed_by=A(', accessed_by='), type=T\n| +- B: c";
        let manager = parse(text).guards[0].manager;
        assert_eq!(manager.source, Some("L[', accessed_by=x']"));
        assert_eq!((manager.accessed_by, manager.value_type), (Some("A(', accessed_by=')"), Some("T")));
    }

    #[test]
    fn lines_that_begin_no_node_go_on_with_the_one_before() {
        let text = "+- RootGuardManager\n| +- A: x == 1  # y = 1  # a.py:1 in new\nline\ttab\n\nmore\n| +- B: y\n\n";
        let guards = parse(text).guards;
        assert_eq!(guards[0].comment, Some("y = 1  # a.py:1 in new\nline\ttab\n\nmore"));
        assert_eq!(guards[1].code, Some("y"));
    }

    #[test]
    fn what_is_no_tree_is_kept() {
        let only = |text| {
            let tree = parse(text);
            assert_eq!(tree.guards.len(), 1, "{text}");
            tree.guards[0]
        };
        for text in ["what\nelse", "TREE_GUARD_MANAGER: x\n", "| | x", "+-x"] {
            let guard = only(text);
            assert_eq!((guard.kind, guard.depth), (None, None));
            let words = text.trim_end().trim_start_matches("TREE_GUARD_MANAGER:").trim();
            assert_eq!(guard.code, Some(words));
        }
        let odd = only("+- a guard?: x  # y");
        assert_eq!((odd.kind, odd.code, odd.depth), (None, Some("a guard?: x  # y"), Some(0)));
        let bare = only("| +- KIND:");
        assert_eq!((bare.kind, bare.code, bare.depth), (Some("KIND"), None, Some(1)));
        for text in ["", "\n\n", "\nTREE_GUARD_MANAGER:\n"] {
            assert_eq!(parse(text), GuardTree::default());
        }
    }

    #[test]
    fn what_was_not_measured_is_not_0() {
        let latency = |text: &str| parse(text).latency_us;
        assert_eq!(latency("+- A: b\n\nGuard latency = 7.50 us\n"), Some(7.5));
        for text in ["Guard latency = 0.00 us", "Guard latency = nan us", "Guard latency = -1 us"] {
            assert_eq!(latency(text), None, "{text}");
            assert!(parse(text).guards.is_empty());
        }
        // Anything else is text.
        assert_eq!(parse("Guard latency = soon").guards.len(), 1);
        let guards = parse("+- A: b\nGuard latency = 7.50 us\n+- B: c").guards;
        assert_eq!(guards[0].code, Some("b\nGuard latency = 7.50 us"));
    }

    #[test]
    fn depth_is_bounded_by_memory_only() {
        let deep = format!("{}+- A: b", "| ".repeat(100_000));
        assert_eq!(parse(&deep).guards[0].depth, Some(100_000));
        let mut text = String::new();
        for depth in (0..300).chain((0..300).rev()) {
            text += &format!("{}+- GuardManager: source=v{depth}\n", "| ".repeat(depth));
        }
        text += "| | | +- A: b";
        assert_eq!(parse(&text).guards[0].manager.source, Some("v0"));
    }
}
