//! Collectives in the Python code that Inductor generated.
//!
//! A collective stands there as a call of `torch.ops._c10d_functional.<op>`, and the wait for its result as a
//! call of `wait_tensor` on the buffer that it fills.

use rustc_hash::FxHashMap;

const CALL: &[u8] = b"torch.ops._c10d_functional";
const WAIT: &str = "wait_tensor";

/// The collectives of one generated program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collectives {
    /// Calls in order, waits among them, named as in a schedule:
    /// `torch.ops._c10d_functional.all_reduce_.default`.
    pub calls: Vec<String>,
    /// Collectives whose result nothing in this program waits for.
    pub without_wait: u32,
    /// Whether some have several results, each to be waited for: that is not told apart here.
    pub coalesced: bool,
}

/// Whether an operator of a schedule or a program is a wait.
pub fn is_wait(op: &str) -> bool {
    op.split('.').any(|part| part == WAIT)
}

/// Finds the collectives in `code`; `None` where it is no Python program of Inductor's, so that there is nothing
/// to be found.
pub fn collectives(code: &[u8]) -> Option<Collectives> {
    let python = [&b"def call("[..], b"def call(self", b"async_compile"];
    if !python.iter().any(|mark| memchr::memmem::find(code, mark).is_some()) {
        return None;
    }
    let mut found = Collectives::default();
    // Buffers that wait to be waited for, and the collectives that fill each.
    let mut open: FxHashMap<&[u8], u32> = FxHashMap::default();
    let mut alias: FxHashMap<&[u8], &[u8]> = FxHashMap::default();
    let mut quoted = false;
    for line in code.split(|b| *b == b'\n') {
        let line = line.trim_ascii();
        let marks =
            memchr::memmem::find_iter(line, b"'''").count() + memchr::memmem::find_iter(line, b"\"\"\"").count();
        // Kernels stand in the program as text.
        let inside = quoted;
        quoted ^= marks % 2 == 1;
        if inside {
            continue;
        }
        let (target, value) = assignment(line);
        if !value.starts_with(CALL) {
            let source = name(value);
            let root = alias.get(source).copied().unwrap_or(source);
            match target {
                // `buf3 = buf2[0]` and `buf7 = buf4` are the same memory.
                Some(target) if open.contains_key(root) => {
                    alias.insert(target, root);
                }
                Some(target) => {
                    alias.remove(target);
                    // The name means something else from here on, so nothing can wait for what it meant.
                    found.without_wait += open.remove(target).unwrap_or(0);
                }
                None => {}
            }
            continue;
        }
        let Some(end) = memchr::memchr(b'(', value) else { continue };
        let op = String::from_utf8_lossy(value.get(..end).unwrap_or_default()).into_owned();
        let arguments = value.get(end + 1..).unwrap_or_default();
        if is_wait(&op) {
            let source = name(arguments);
            // One wait is for all that is under way on the buffer.
            open.remove(alias.get(source).copied().unwrap_or(source));
        } else {
            found.coalesced |= op.contains("coalesced");
            let filled = target.unwrap_or_else(|| name(arguments.trim_ascii_start()));
            alias.remove(filled);
            *open.entry(filled).or_default() += 1;
        }
        found.calls.push(op);
    }
    found.without_wait += open.values().sum::<u32>();
    Some(found)
}

/// The name that a line assigns to, and what it assigns.
fn assignment(line: &[u8]) -> (Option<&[u8]>, &[u8]) {
    let target = name(line);
    match line.get(target.len()..).and_then(|rest| rest.strip_prefix(b" = ")) {
        Some(value) if !target.is_empty() => (Some(target), value),
        _ => (None, line),
    }
}

/// The name that a text begins with, an opening bracket and a call that only looks at memory otherwise passed over.
fn name(text: &[u8]) -> &[u8] {
    let text = text.strip_prefix(b"[").unwrap_or(text);
    let text = text.strip_prefix(b"reinterpret_tensor(").unwrap_or(text);
    let len = text.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
    text.get(..len).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(body: &str) -> Collectives {
        collectives(format!("def call(args):\n{body}").as_bytes()).unwrap()
    }

    #[test]
    fn waits_belong_to_buffers() {
        let reduce = "        torch.ops._c10d_functional.all_reduce_.default(buf1, 'sum', '0')\n";
        let gather = "        buf2 = torch.ops._c10d_functional.all_gather_into_tensor.default(buf1, 2, '0')\n        assert_size_stride(buf2, (8,), (1,), 'torch.ops._c10d_functional.all_gather_into_tensor.default')\n";
        let wait = |n: u32| format!("        torch.ops._c10d_functional.wait_tensor.default(buf{n})\n");
        let all = of(&format!("{reduce}{gather}{}{}", wait(1), wait(2)));
        assert_eq!((all.calls.len(), all.without_wait), (4, 0));
        assert_eq!(all.calls[0], "torch.ops._c10d_functional.all_reduce_.default");
        assert_eq!(of(&format!("{reduce}{gather}{}", wait(2))).without_wait, 1);
        assert_eq!(of(&format!("{reduce}        # {}", wait(1).trim())).without_wait, 1);
        assert_eq!(
            of(&format!("{gather}        buf7 = buf2[0]\n        buf8 = buf7; del buf7  # reuse\n{}", wait(8)))
                .without_wait,
            0
        );
        assert_eq!(of(&format!("{gather}        buf2 = extern_kernels.mm(a, b)\n{}", wait(2))).without_wait, 1);
        assert_eq!(of(&format!("        x = '''\n{reduce}        '''\n")).calls.len(), 0);
        // Waiting for one buffer twice is no wait for the other.
        assert_eq!(of(&format!("{reduce}{gather}{}{}", wait(1), wait(1))).without_wait, 1);
    }

    #[test]
    fn other_languages_are_not_judged() {
        assert!(collectives(b"#include <torch/csrc/inductor/aoti_runtime/interface.h>\n").is_none());
        assert_eq!(of("    return (buf0, )\n"), Collectives::default());
    }
}
