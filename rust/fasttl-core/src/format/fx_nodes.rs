//! Nodes of a printed graph one by one, so that two graphs can be compared node by node.
//!
//! A node's key says what it does without saying to which nodes: a node more in front of it does not change it.
//! Which nodes it uses stands apart.

use rustc_hash::FxHashMap;

/// One statement of a printed graph: an input, a call, a return, or the begin of a `forward`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// What it calls, as in [`super::fx_graph::Graph::calls`]; `input`, `return` or `forward` for what calls nothing.
    pub call: String,
    /// The statement without names of variables and numbers of devices; its type and its constants are there.
    pub key: String,
    /// Nodes whose values it uses, in the order of its arguments: indexes into the list.
    pub uses: Vec<usize>,
    /// The statement as it was printed, without comments and line feeds.
    pub text: String,
}

/// Nodes while a graph is read.
#[derive(Default)]
pub(super) struct NodeList {
    nodes: Vec<Node>,
    /// The node that made each variable.
    made_by: FxHashMap<usize, usize>,
    /// Nodes used by the statement at hand.
    uses: Vec<usize>,
}

impl NodeList {
    /// Notes that the statement at hand uses variable number `variable`.
    pub(super) fn uses(&mut self, variable: usize) {
        self.uses.extend(self.made_by.get(&variable));
    }

    /// Ends the statement at hand.
    pub(super) fn add(&mut self, call: &str, text: &[u8], variable: Option<usize>) {
        if let Some(variable) = variable {
            self.made_by.insert(variable, self.nodes.len());
        }
        self.nodes.push(Node {
            call: call.to_owned(),
            key: String::new(),
            uses: std::mem::take(&mut self.uses),
            text: String::from_utf8_lossy(text).split_ascii_whitespace().collect::<Vec<_>>().join(" "),
        });
    }

    /// The nodes. `lines` has a line for each, variables as `%` and a number.
    pub(super) fn finish(mut self, lines: &[u8]) -> Vec<Node> {
        for (node, line) in self.nodes.iter_mut().zip(lines.split(|b| *b == b'\n')) {
            node.key = String::from_utf8_lossy(&without_numbers(line)).into_owned();
        }
        self.nodes
    }
}

/// Takes the numbers of variables out of a line.
fn without_numbers(line: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(line.len());
    let (mut quote, mut number) = (None, false);
    for &byte in line {
        number &= byte.is_ascii_digit();
        if number {
            continue;
        }
        match (byte, quote) {
            (b'"' | b'\'', None) => quote = Some(byte),
            (_, Some(open)) if open == byte => quote = None,
            (b'%', None) => number = true,
            _ => {}
        }
        out.push(byte);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::fx_graph::nodes;

    fn keys(body: &str) -> Vec<String> {
        let text = format!("def forward(self, x: \"f32[4]cuda:3\"):\n{body}");
        nodes(text.as_bytes()).unwrap().into_iter().map(|node| node.key).collect()
    }

    #[test]
    fn a_node_more_does_not_change_the_others() {
        let few = keys("    a = x.sin();  x = None\n    b = a + 2\n    return (b,)");
        let more = keys("    a = x.sin();  x = None\n    c = a.clamp(-1, 1)\n    z = c + 2\n    return (z,)");
        assert_eq!(few, ["forward", " input: \"f32[4]cuda:#0\"", " = %.sin()", " = % + 2", "return (%,)"]);
        assert_eq!(more.iter().filter(|key| !few.contains(key)).collect::<Vec<_>>(), [" = %.clamp(-1, 1)"]);
    }

    #[test]
    fn uses_are_nodes_whatever_they_are_called() {
        let text = b"def forward(self, x, y):\n    x_ = x\n    a = torch.add(y, x_)\n    x[0] = a\n    return (a, y)";
        let nodes = nodes(text).unwrap();
        let uses: Vec<&[usize]> = nodes.iter().map(|node| node.uses.as_slice()).collect();
        let none: &[usize] = &[];
        assert_eq!(uses, [none, none, none, &[2, 1], &[1, 3], &[3, 2]]);
        let calls: Vec<&str> = nodes.iter().map(|node| node.call.as_str()).collect();
        assert_eq!(calls, ["forward", "input", "input", "torch.add", "setitem", "return"]);
        assert_eq!(nodes[3].text, "a = torch.add(y, x_)");
    }

    #[test]
    fn a_percent_sign_in_a_text_is_no_variable() {
        assert_ne!(keys("    a = f('%1')"), keys("    a = f('%2')"));
        assert!(nodes(b"no graph").is_none());
    }
}
