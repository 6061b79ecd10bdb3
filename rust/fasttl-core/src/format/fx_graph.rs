//! Graphs as PyTorch prints them: classes with a `forward` of one statement a node.
//!
//! The text is Python, but only its shape is read: placeholders, one assignment a node, a `return`. Comments
//! (places in the user's code, notes on inputs, ids of graphs) say where a node comes from, not what it does,
//! and differ between machines; they are passed over. Two graphs are the same when they are equal up to the
//! names of their variables: [`Graph::shape`].

use rustc_hash::FxHashMap;

pub use super::fx_nodes::Node;
use super::fx_nodes::NodeList;
use super::fx_numbers::without_own;
use super::payload::md5;

/// What a printed graph holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// What each node calls, in order: `torch.ops.aten.sin.default`, `.sin` for a method, `getitem`, `getattr`,
    /// or an operator such as `*`. Nodes of inner graphs are among them.
    pub calls: Vec<String>,
    /// Inputs of the outer graph.
    pub placeholders: u32,
    /// Values that the outer graph returns.
    pub outputs: u32,
    /// Names of the process groups of collectives, in the order of their calls.
    pub groups: Vec<String>,
    /// MD5 of the statements with variables, devices, process groups and kernels numbered in their order, without comments.
    pub shape: [u8; 16],
}

/// Reads the printed graph `text`; `None` where there is no `forward` in it.
///
/// ```
/// use fasttl_core::format::fx_graph::parse;
///
/// let a = b"class GraphModule(torch.nn.Module):\n    def forward(self, x: \"f32[4]\"):\n        # File: a.py:1\n        y: \"f32[4]\" = x.sin();  x = None\n        return (y,)\n";
/// let b = b"class f(torch.nn.Module):\n    def forward(self, L_x_: \"f32[4]\"):\n        sin: \"f32[4]\" = L_x_.sin();  L_x_ = None\n        return (sin,)\n";
/// let (a, b) = (parse(a).unwrap(), parse(b).unwrap());
/// assert_eq!((a.calls.as_slice(), a.placeholders, a.outputs), (&[".sin".to_owned()][..], 1, 1));
/// assert_eq!(a.shape, b.shape);
/// ```
pub fn parse(text: &[u8]) -> Option<Graph> {
    let mut reader = read(text, None)?;
    let (statements, groups) = without_own(&reader.canonical);
    reader.graph.shape = md5(&statements);
    reader.graph.groups = groups;
    Some(reader.graph)
}

/// Reads the printed graph `text` node by node, inputs and returns among them; `None` where there is no `forward` in it.
///
/// ```
/// use fasttl_core::format::fx_graph::nodes;
///
/// let a = nodes(b"def forward(self, x):\n    y = x.sin();  x = None\n    return (y,)\n").unwrap();
/// let b = nodes(b"def forward(self, L_x_):\n    sin = L_x_.sin();  L_x_ = None\n    return (sin,)\n").unwrap();
/// assert_eq!(a[2].key, b[2].key);
/// assert_eq!((a[2].call.as_str(), a[2].uses.as_slice()), (".sin", &[1][..]));
/// ```
pub fn nodes(text: &[u8]) -> Option<Vec<Node>> {
    let Reader { canonical, nodes, .. } = read(text, Some(NodeList::default()))?;
    nodes.map(|nodes| nodes.finish(&without_own(&canonical).0))
}

fn read(text: &[u8], nodes: Option<NodeList>) -> Option<Reader> {
    let mut reader = Reader { nodes, ..Reader::default() };
    let mut at = 0;
    let mut statement = Vec::new();
    while at < text.len() {
        statement.clear();
        at = next_statement(text, at, &mut statement);
        reader.statement(statement.trim_ascii());
    }
    (reader.forwards > 0).then_some(reader)
}

/// Appends the next statement to `out`, without comments; it ends at a `;` or at the end of a line outside of brackets.
/// Yields where the one after it starts.
fn next_statement(text: &[u8], from: usize, out: &mut Vec<u8>) -> usize {
    let (mut at, mut depth, mut quote, mut dropped) = (from, 0_usize, None, false);
    while let Some(&byte) = text.get(at) {
        at += 1;
        if byte == b'\n' {
            quote = None;
            dropped = false;
            if depth == 0 {
                break;
            }
            out.push(b' ');
            continue;
        }
        if dropped {
            continue;
        }
        match (byte, quote) {
            (b'\\', Some(_)) => {
                out.push(byte);
                if let Some(&next) = text.get(at).filter(|b| **b != b'\n') {
                    out.push(next);
                    at += 1;
                }
                continue;
            }
            (b'"' | b'\'', None) => quote = Some(byte),
            (_, Some(open)) if open == byte => quote = None,
            (b'#', None) => {
                dropped = true;
                continue;
            }
            (b';', None) if depth == 0 => break,
            (b'(' | b'[' | b'{', None) => depth += 1,
            (b')' | b']' | b'}', None) => depth = depth.saturating_sub(1),
            _ => {}
        }
        out.push(byte);
    }
    at
}

#[derive(Default)]
struct Reader {
    graph: Graph,
    canonical: Vec<u8>,
    variables: FxHashMap<Vec<u8>, usize>,
    forwards: usize,
    /// Inputs that the outer signature names, until the body of a joint graph names them one by one.
    bundled: u32,
    /// The nodes one by one, where they are wanted.
    nodes: Option<NodeList>,
}

impl Reader {
    /// Ends the line of a node that makes variable number `number`.
    fn end_line(&mut self, call: Option<&str>, text: &[u8], number: Option<usize>) {
        self.canonical.push(b'\n');
        if let Some(nodes) = &mut self.nodes {
            let call = call.or(self.graph.calls.last().map(String::as_str)).unwrap_or_default();
            nodes.add(call, text, number);
        }
    }

    fn statement(&mut self, text: &[u8]) {
        let mut text = text;
        // A body may stand on the line of its signature.
        while let Some(rest) = text.strip_prefix(b"def forward(") {
            text = self.forward(rest);
        }
        let outside = [&b"class "[..], b"import ", b"from "].iter().any(|word| text.starts_with(word));
        if text.is_empty() || outside || self.forwards == 0 {
            // Something before the graph, such as a heading.
        } else if let Some(value) = text.strip_prefix(b"return ") {
            if self.forwards == 1 && self.graph.outputs == 0 {
                self.graph.outputs = outputs(value.trim_ascii());
            }
            self.canonical.extend_from_slice(b"return ");
            self.rename(value);
            self.end_line(Some("return"), text, None);
        } else {
            self.assignment(text);
        }
    }

    /// `self, x: "f32[4]", y):` declares the inputs. Yields what follows the colon.
    fn forward<'t>(&mut self, signature: &'t [u8]) -> &'t [u8] {
        self.forwards += 1;
        self.variables.clear();
        self.canonical.extend_from_slice(b"forward");
        self.end_line(Some("forward"), b"def forward", None);
        let end = closing(signature);
        let mut inputs = split(signature.get(..end).unwrap_or_default(), b',');
        inputs.retain(|input| !input.is_empty() && *input != b"self" && *input != b"*" && *input != b"/");
        for input in inputs {
            self.placeholder(input);
        }
        self.bundled = if self.forwards == 1 { self.graph.placeholders } else { 0 };
        // A type of what is returned may stand before the colon.
        let rest = signature.get(end + 1..).unwrap_or_default();
        let colon = top_level(rest, b':').unwrap_or(rest.len());
        rest.get(colon + 1..).unwrap_or_default().trim_ascii()
    }

    fn placeholder(&mut self, text: &[u8]) {
        let name = identifier(text.strip_prefix(b"*").unwrap_or(text));
        if name.is_empty() {
            return;
        }
        let number = self.declare(name);
        let rest = text.get(name.len()..).unwrap_or_default();
        self.canonical.extend_from_slice(b" input");
        self.canonical.extend_from_slice(rest);
        self.end_line(Some("input"), text, Some(number));
        self.graph.placeholders += u32::from(self.forwards == 1);
    }

    fn declare(&mut self, name: &[u8]) -> usize {
        let number = self.variables.len();
        self.variables.insert(name.to_vec(), number);
        number
    }

    fn assignment(&mut self, text: &[u8]) {
        let name = identifier(text);
        let rest = text.get(name.len()..).unwrap_or_default();
        let Some(equals) = top_level(rest, b'=') else {
            if !name.is_empty() && rest.starts_with(b":") {
                // `primals_1: "f32[4]"` declares an input of a joint graph.
                self.graph.placeholders -= std::mem::take(&mut self.bundled);
                self.placeholder(text);
            } else {
                // A call whose result nobody needs.
                self.node(callee(text), text);
            }
            return;
        };
        let (kind, value) = (rest.get(..equals).unwrap_or_default(), rest.get(equals + 1..).unwrap_or_default());
        let value = value.trim_ascii();
        if kind.starts_with(b",") {
            // `a, b, = fx_pytree.tree_flatten_spec(...)` hands the inputs out.
        } else if frees(value) {
            // `a = b = None` ends the life of variables.
        } else if name.is_empty() || !(kind.trim_ascii().is_empty() || kind.starts_with(b":")) {
            // `x[0] = y`, `x.grad = y`, `x += y`: a variable is changed.
            let call = match kind.trim_ascii_start().first() {
                Some(b'[') => "setitem".to_owned(),
                Some(b'.') => "setattr".to_owned(),
                _ => format!("{}=", String::from_utf8_lossy(kind.trim_ascii())),
            };
            self.node(call, text);
        } else if let Some(number) = self.variables.get(value).copied() {
            // Another name for a variable.
            self.variables.insert(name.to_vec(), number);
        } else {
            self.graph.calls.push(callee(value));
            self.canonical.extend_from_slice(kind.trim_ascii());
            self.canonical.extend_from_slice(b" = ");
            self.rename(value);
            let number = self.declare(name);
            self.end_line(None, text, Some(number));
        }
    }

    /// A statement that makes no variable.
    fn node(&mut self, call: String, text: &[u8]) {
        self.graph.calls.push(call);
        self.rename(text);
        self.end_line(None, text, None);
    }

    /// Appends an expression with its variables as numbers.
    fn rename(&mut self, text: &[u8]) {
        let mut at = 0;
        let mut quote = None;
        while let Some(&byte) = text.get(at) {
            let after_dot = at.checked_sub(1).and_then(|n| text.get(n)) == Some(&b'.');
            if quote.is_none() && is_name(byte) && !byte.is_ascii_digit() && !after_dot {
                let word = identifier(text.get(at..).unwrap_or_default());
                match self.variables.get(word) {
                    Some(number) => {
                        self.canonical.extend_from_slice(format!("%{number}").as_bytes());
                        if let Some(nodes) = &mut self.nodes {
                            nodes.uses(*number);
                        }
                    }
                    None => self.canonical.extend_from_slice(word),
                }
                at += word.len().max(1);
                continue;
            }
            match (byte, quote) {
                (b'"' | b'\'', None) => quote = Some(byte),
                (_, Some(open)) if open == byte => quote = None,
                _ => {}
            }
            self.canonical.push(byte);
            at += 1;
            // The rest of a word that began with a digit or stands behind a dot is no variable.
            while is_name(byte) && text.get(at).is_some_and(|b| is_name(*b)) && quote.is_none() {
                self.canonical.extend(text.get(at));
                at += 1;
            }
        }
    }
}

/// Whether a value is `None`, or further names that become `None`.
fn frees(value: &[u8]) -> bool {
    let mut parts = value.split(|b| *b == b'=').map(<[u8]>::trim_ascii);
    parts.next_back() == Some(b"None") && parts.all(|part| !part.is_empty() && identifier(part) == part)
}

const fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

fn identifier(text: &[u8]) -> &[u8] {
    let len = text.iter().take_while(|b| is_name(**b)).count();
    let starts_with_digit = text.first().is_some_and(u8::is_ascii_digit);
    text.get(..if starts_with_digit { 0 } else { len }).unwrap_or_default()
}

/// Where `wanted` stands outside of brackets and quotes; `==` and its like are no `=`.
fn top_level(text: &[u8], wanted: u8) -> Option<usize> {
    let (mut depth, mut quote) = (0_usize, None);
    for (at, &byte) in text.iter().enumerate() {
        match (byte, quote) {
            (b'"' | b'\'', None) => quote = Some(byte),
            (_, Some(open)) if open == byte => quote = None,
            (_, Some(_)) => {}
            (b'(' | b'[' | b'{', None) => depth += 1,
            (b')' | b']' | b'}', None) => depth = depth.saturating_sub(1),
            _ if depth == 0 && byte == wanted => {
                let near = |n: Option<usize>| n.and_then(|n| text.get(n)).copied();
                let part_of_other = matches!(near(at.checked_sub(1)), Some(b'=' | b'!' | b'<' | b'>'))
                    || near(Some(at + 1)) == Some(b'=');
                if wanted != b'=' || !part_of_other {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// Where the bracket that is open at the start is closed.
fn closing(text: &[u8]) -> usize {
    let (mut depth, mut quote) = (1_usize, None);
    for (at, &byte) in text.iter().enumerate() {
        match (byte, quote) {
            (b'"' | b'\'', None) => quote = Some(byte),
            (_, Some(open)) if open == byte => quote = None,
            (b'(' | b'[' | b'{', None) => depth += 1,
            (b')' | b']' | b'}', None) => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

/// Splits at `by` outside of brackets and quotes, blanks trimmed.
fn split(mut text: &[u8], by: u8) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    while let Some(at) = top_level(text, by) {
        parts.push(text.get(..at).unwrap_or_default().trim_ascii());
        text = text.get(at + 1..).unwrap_or_default();
    }
    parts.push(text.trim_ascii());
    parts
}

/// What an expression calls.
fn callee(value: &[u8]) -> String {
    let dotted = value.iter().take_while(|b| is_name(**b) || **b == b'.').count();
    let path = String::from_utf8_lossy(value.get(..dotted).unwrap_or_default()).into_owned();
    match value.get(dotted) {
        Some(b'(') if path.starts_with("self.") || !path.contains('.') => path,
        Some(b'(') if is_module_path(&path) => path,
        Some(b'(') => format!(".{}", path.rsplit('.').next().unwrap_or_default()),
        Some(b'[') => "getitem".to_owned(),
        None if path.contains('.') => "getattr".to_owned(),
        _ => {
            let rest = value.get(dotted..).unwrap_or_default().trim_ascii_start();
            let operator: String =
                rest.iter().take_while(|b| b.is_ascii_punctuation() && **b != b'(').map(|b| char::from(*b)).collect();
            if operator.is_empty() || path.is_empty() { "expression".to_owned() } else { operator }
        }
    }
}

/// Functions are called by the path of their module; anything else with a dot is a method of a value.
fn is_module_path(path: &str) -> bool {
    let root = path.split('.').next().unwrap_or_default();
    matches!(root, "torch" | "operator" | "math" | "builtins" | "einops" | "torchvision" | "fx_pytree" | "pytree")
        || root.starts_with("_operator")
        || path.matches('.').count() > 1
}

/// How many values a `return` gives.
fn outputs(value: &[u8]) -> u32 {
    let inner = value.strip_prefix(b"pytree.tree_unflatten(").unwrap_or(value);
    let bracketed = matches!(inner.first(), Some(b'(' | b'['));
    if !bracketed {
        return 1;
    }
    let mut depth = 0_usize;
    let end = inner.iter().position(|byte| {
        depth += usize::from(matches!(byte, b'(' | b'['));
        depth -= usize::from(matches!(byte, b')' | b']')).min(depth);
        depth == 0
    });
    let list = inner.get(1..end.unwrap_or(inner.len())).unwrap_or_default();
    u32::try_from(split(list, b',').iter().filter(|part| !part.is_empty()).count()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOINT: &str = "class inner_f(torch.nn.Module):\n    def forward(\n        self,\n        primals,\n        tangents,\n    ):\n        primals_1: \"f32[4][1]cpu\"  # PlainAOTInput(idx=0)\n        primals_1, tangents_1, = fx_pytree.tree_flatten_spec([primals, tangents], self._in_spec)\n        # File: /a b.py:35 in step, code: z = (((\n        sin: \"f32[4][1]cpu\" = torch.ops.aten.sin.default(primals_1)\n\n        getitem: \"Sym(s0)\" = sin[0];  sin = None\n        mul = getitem * 2\n        return pytree.tree_unflatten([mul, None], self._out_spec)\n        \n # graph id: 140\n";

    #[test]
    fn reads_what_pytorch_prints() {
        let graph = parse(JOINT.as_bytes()).unwrap();
        assert_eq!(graph.calls, ["torch.ops.aten.sin.default", "getitem", "*"]);
        assert_eq!((graph.placeholders, graph.outputs), (1, 2));
        assert!(parse(b"no graph").is_none());
        let line = |constant| parse(format!("def forward(self, x): return x + {constant}").as_bytes()).unwrap();
        assert_eq!((line(0).placeholders, line(0).outputs), (1, 1));
        assert_ne!(line(0).shape, line(1).shape);
    }

    #[test]
    fn names_and_comments_do_not_matter_and_types_do() {
        let shape = |text: &str| parse(text.as_bytes()).unwrap().shape;
        let renamed = JOINT.replace("getitem", "g").replace("graph id: 140", "graph id: 7").replace("/a b.py", "/c.py");
        assert_eq!(shape(JOINT), shape(&renamed));
        for (from, to) in [("f32[4]", "f32[5]"), ("sin.default", "cos.default"), ("* 2", "* 3"), ("mul, None", "mul")] {
            assert_ne!(shape(JOINT), shape(&JOINT.replace(from, to)), "{from}");
        }
    }

    #[test]
    fn what_changes_a_variable_counts() {
        let graph =
            |body: &str| parse(format!("def forward(self, x, y):\n    {body}\n    return (x,)").as_bytes()).unwrap();
        let bodies = [
            "x[0] = y;  setitem = x",
            "x[1] = y",
            "x += y;  iadd = x",
            "x *= y",
            "x += 1",
            "y += 1",
            "torch._check(x)",
        ];
        for (n, a) in bodies.iter().enumerate() {
            assert_eq!(graph(a).calls.len(), 1, "{a}");
            for b in bodies.get(n + 1..).unwrap() {
                assert_ne!(graph(a).shape, graph(b).shape, "{a} {b}");
            }
        }
        // A name that was bound behind a change is a name of the variable.
        let named = |name: &str| graph(&format!("x += y;  {name} = x;  y = None\n    z = {name}.sin()")).shape;
        assert_eq!(named("iadd"), named("other"));
    }

    #[test]
    fn a_rank_has_a_device_of_its_own() {
        let on = |a: u32, b: u32| {
            let text = format!(
                "def forward(self, x: \"f32[4]cuda:{a}\", y: \"f32[4]cuda:{b}\"):\n    z = torch.ones(device(type='cuda', index={a}))\n    return (x,)"
            );
            parse(text.as_bytes()).unwrap().shape
        };
        assert_eq!(on(0, 0), on(3, 3));
        assert_eq!(on(0, 1), on(2, 7));
        assert_ne!(on(0, 0), on(0, 1));
        let select = |index| {
            parse(format!("def forward(self, x):\n    y = x.select(dim=0, index={index})").as_bytes()).unwrap().shape
        };
        assert_ne!(select(3), select(5));
    }

    #[test]
    fn hostile_text_is_read_once_and_ends() {
        // Looking through all earlier devices for each would take minutes.
        let devices: Vec<String> = (0..400_000).map(|n| format!("cuda:{n}")).collect();
        for text in [
            devices.join(" "),
            "def forward(".repeat(20_000),
            "((((".repeat(50_000),
            "def forward(): ".repeat(100_000),
            "a = \"".repeat(50_000),
            "x = x\n".repeat(9),
        ] {
            let text = format!("def forward(self, x):\n{text}");
            assert!(parse(text.as_bytes()).is_some());
        }
    }

    #[test]
    fn process_groups_are_numbered_by_their_first_use() {
        let graph = |a: &str, b: &str| {
            let text = format!(
                "def forward(self, x):\n    y = torch.ops._c10d_functional.all_reduce(x, 'sum', '{a}')\n    z = torch.ops._c10d_functional.all_gather_into_tensor(y, 4, '{b}')\n    return (z,)"
            );
            parse(text.as_bytes()).unwrap().shape
        };
        assert_eq!(graph("0", "0"), graph("7", "7"));
        assert_eq!(graph("0", "3"), graph("tp_1", "dp_0"));
        assert_ne!(graph("0", "0"), graph("0", "3"));
        // The operation of a reduction, and texts of other calls, are what they are.
        let other = |op: &str, text: &str| {
            let text = format!(
                "def forward(self, x):\n    y = torch.ops._c10d_functional.all_reduce(x, '{op}', '0')\n    z = f(y, '{text}')\n    return (z,)"
            );
            parse(text.as_bytes()).unwrap().shape
        };
        assert_ne!(other("sum", "a"), other("avg", "a"));
        assert_ne!(other("sum", "a"), other("sum", "b"));
    }
}
