//! The lines of generated code by the names of its kernels.

use rustc_hash::FxHashMap;

use super::tie::At;

/// Newer releases write this, and the kernel's name with its number, above a call.
const HANDLES: &str = "[Provenance debug handles]";
/// A call follows its comment within so many lines.
const NEAR: usize = 12;
/// Lines that one kernel may have.
const LINES: usize = 40;

/// Where a kernel stands in the code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Found {
    /// Its calls by their number, where the code has these.
    handled: Vec<At>,
    calls: Vec<At>,
    definitions: Vec<At>,
    mentions: Vec<At>,
}

/// The name without the number that tells its calls apart.
fn base(kernel: &str) -> &str {
    match kernel.rsplit_once(':') {
        Some((base, number)) if number.bytes().all(|b| b.is_ascii_digit()) && !number.is_empty() => base,
        _ => kernel,
    }
}

/// Lines of each kernel in the numbered texts: calls first, then definitions; empty where it does not occur.
pub(super) fn kernel_lines<'k>(
    kernels: impl Iterator<Item = &'k str>,
    texts: &[(usize, &[u8])],
) -> FxHashMap<&'k str, Vec<At>> {
    let mut found: FxHashMap<&str, Found> = FxHashMap::default();
    for kernel in kernels {
        found.entry(base(kernel)).or_default();
        found.entry(kernel).or_default();
    }
    for (text, bytes) in texts {
        scan(*text, bytes, &mut found);
    }
    let lines = |kernel: &'k str| {
        let own = found.get(kernel).map(|f| f.handled.clone()).unwrap_or_default();
        let Some(of_base) = found.get(base(kernel)) else { return (kernel, own) };
        let mut lines = if own.is_empty() { of_base.calls.clone() } else { own };
        lines.extend(&of_base.definitions);
        if lines.is_empty() {
            lines.clone_from(&of_base.mentions);
        }
        lines.truncate(LINES);
        (kernel, lines)
    };
    found.keys().copied().map(lines).collect()
}

fn push(list: &mut Vec<At>, at: At) {
    if list.len() < LINES && list.last() != Some(&at) {
        list.push(at);
    }
}

fn scan(text: usize, bytes: &[u8], found: &mut FxHashMap<&str, Found>) {
    // Names of the comment above, and its line.
    let mut awaited: Vec<String> = Vec::new();
    let mut since = 0;
    for (line, raw) in (1..).zip(bytes.split(|&b| b == b'\n')) {
        let words = String::from_utf8_lossy(raw);
        if let Some((_, handles)) = words.split_once(HANDLES) {
            settle(&mut awaited, At { text, line: since + 1 }, found);
            awaited =
                handles.split(',').map(|h| h.trim().to_owned()).filter(|h| found.contains_key(h.as_str())).collect();
            since = line;
            continue;
        }
        if !awaited.is_empty() && line - since > NEAR {
            settle(&mut awaited, At { text, line: since + 1 }, found);
        }
        scan_line(At { text, line }, &words, &mut awaited, found);
    }
    settle(&mut awaited, At { text, line: since + 1 }, found);
}

/// A comment whose call was not found stands for the line below it.
fn settle(awaited: &mut Vec<String>, at: At, found: &mut FxHashMap<&str, Found>) {
    for name in awaited.drain(..) {
        if let Some(found) = found.get_mut(name.as_str()) {
            push(&mut found.handled, at);
        }
    }
}

fn scan_line(at: At, line: &str, awaited: &mut Vec<String>, found: &mut FxHashMap<&str, Found>) {
    let begin = line.trim_start();
    let comment = begin.starts_with('#') || begin.starts_with("//");
    let defines = ["def ", "extern ", "static ", "void ", "__global__ "].iter().any(|word| begin.starts_with(word));
    let mut rest = line;
    while let Some(start) = rest.find(is_name) {
        let after = rest.get(start..).unwrap_or_default();
        let end = after.find(|c| !is_name(c)).unwrap_or(after.len());
        let (token, next) = after.split_at(end);
        rest = next;
        let token = token.strip_suffix(".run").unwrap_or(token);
        let name = if found.contains_key(token) { token } else { token.strip_prefix("call_").unwrap_or(token) };
        let Some(kernel) = found.get_mut(name) else { continue };
        let is_call = next.starts_with('(');
        if defines && is_call || next.starts_with(" = async_compile.") {
            push(&mut kernel.definitions, at);
        } else if is_call && !comment {
            push(&mut kernel.calls, at);
            let own = awaited.iter().position(|awaited| base(awaited) == name);
            if let Some(own) = own.map(|own| awaited.remove(own))
                && let Some(kernel) = found.get_mut(own.as_str())
            {
                push(&mut kernel.handled, at);
            }
        } else {
            push(&mut kernel.mentions, at);
        }
    }
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '.'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(kernels: &[&'static str], text: &str) -> Vec<Vec<usize>> {
        let found = kernel_lines(kernels.iter().copied(), &[(0, text.as_bytes())]);
        kernels.iter().map(|k| found[k].iter().map(|at| at.line).collect()).collect()
    }

    #[test]
    fn handles_tell_calls_apart() {
        let code = "k_0 = async_compile.triton('k_0', '''\ndef k_0(x):\n'''\n# [Provenance debug handles] ek.mm:1\n\
            ek.mm(a)\n# [Provenance debug handles] k_0:2, ek.mm:3\ns = get()\nk_0.run(b)\nek.mm(c)\n";
        assert_eq!(lines(&["ek.mm:1", "k_0:2", "ek.mm:3"], code), [vec![5], vec![8, 1, 2], vec![9]]);
        // One that the comments do not name is taken by all calls of its name; another is not there.
        assert_eq!(lines(&["ek.mm:7", "gone:1"], code), [vec![5, 9], vec![]]);
    }

    #[test]
    fn older_code_has_names_only() {
        let code = "extern \"C\" void cpp_0(float* x);\nvoid* cpp_0{nullptr};\n// Source Nodes: cpp_0()\n  \
            cpp_0((float*)(x));\n  call_tri_1(x);\n  k.tri_10(x);\n  // [Provenance debug handles] odd:1\n  y();\n";
        assert_eq!(lines(&["cpp_0", "tri_1", "odd:1"], code), [vec![4, 1], vec![5], vec![8]]);
    }
}
