//! Numbers and names in a printed graph that each rank has of its own, while it runs the same: its devices, the names of
//! its process groups, and Triton's numbers of kernels, which count in the process. They are numbered by their first use.

use rustc_hash::FxHashMap;

/// What stands before the number of a device.
const DEVICES: [&[u8]; 5] = [b"cuda:", b"xpu:", b"hpu:", b"npu:", b"mtia:"];

/// What stands before a number that Triton counts in the process.
const KERNELS: [&[u8]; 2] = [b"kernel_idx", b"constant_args_idx"];

/// Operators with the name of a process group among their arguments.
const WITH_GROUP: [&[u8]; 5] = [
    b"torch.ops._c10d_functional.",
    b"torch.ops._c10d_functional_autograd.",
    b"torch.ops._dtensor.",
    b"torch.ops.symm_mem.",
    b"torch.ops.c10d.",
];

/// Texts among the arguments of these operators that are reductions.
const REDUCTIONS: [&[u8]; 10] =
    [b"sum", b"avg", b"min", b"max", b"product", b"premul_sum", b"band", b"bor", b"bxor", b"unused"];

/// Longest name of a process group.
const GROUP: usize = 64;

/// Bytes in front of an index in which the device is named.
const NEAR: usize = 40;

/// Statements with own numbers and names as `#` and a number, and the names of process groups in the order of their use.
pub(super) fn without_own(canonical: &[u8]) -> (Vec<u8>, Vec<String>) {
    let mut out = Vec::with_capacity(canonical.len());
    let mut seen: FxHashMap<(Kind, &[u8]), usize> = FxHashMap::default();
    let mut counts = [0_usize; Kind::COUNT];
    let mut groups = Vec::new();
    let mut state = State::default();
    let mut at = 0;
    while let Some(rest) = canonical.get(at..).filter(|rest| !rest.is_empty()) {
        let Some((kind, name, len)) = own(rest, &out, &state) else {
            state.pass(rest, &out);
            out.extend(rest.first());
            at += 1;
            continue;
        };
        if kind == Kind::Group {
            groups.push(String::from_utf8_lossy(name).into_owned());
        }
        let count = counts.get_mut(kind as usize);
        let nth = *seen.entry((kind, name)).or_insert_with(|| {
            count.map_or(0, |count| {
                *count += 1;
                *count - 1
            })
        });
        out.extend_from_slice(format!("#{nth}").as_bytes());
        at += len;
    }
    (out, groups)
}

/// Whether what stands here is the index of a device: behind `device(type='cuda', index=`, and not behind
/// the index= of another call.
pub(crate) fn is_index_of_device(before: &[u8]) -> bool {
    let near = before.get(before.len().saturating_sub(NEAR)..).unwrap_or_default();
    let inside = memchr::memmem::rfind(near, b"device(").and_then(|at| near.get(at..));
    before.ends_with(b"index=") && inside.is_some_and(|inside| !inside.contains(&b')'))
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Device,
    Group,
    Kernel,
    Constants,
}

impl Kind {
    const COUNT: usize = 4;
}

/// Where in a statement a byte stands.
#[derive(Default)]
struct State {
    /// The quote that is open.
    quote: Option<u8>,
    /// Whether the byte before it takes its meaning.
    escaped: bool,
    /// Whether it stands behind an operator that names a process group.
    has_group: bool,
}

impl State {
    /// Passes over the first byte of `rest`.
    fn pass(&mut self, rest: &[u8], before: &[u8]) {
        let Some(&byte) = rest.first() else { return };
        match (byte, self.quote) {
            (b'\n', _) => *self = Self::default(),
            _ if self.escaped => self.escaped = false,
            (b'\\', Some(_)) => self.escaped = true,
            (b'"' | b'\'', None) => self.quote = Some(byte),
            (_, Some(open)) if open == byte => self.quote = None,
            (b't', None) if !before.last().is_some_and(|b| is_word(*b)) => {
                self.has_group |= WITH_GROUP.iter().any(|operator| rest.starts_with(operator));
            }
            _ => {}
        }
    }
}

/// The own number or name at the start of `rest`: what it is of, its text, and how many bytes it takes.
fn own<'t>(rest: &'t [u8], before: &[u8], state: &State) -> Option<(Kind, &'t [u8], usize)> {
    match *rest.first()? {
        b'0'..=b'9' => {
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            Some((number(before)?, rest.get(..digits)?, digits))
        }
        b'"' | b'\'' if state.has_group && state.quote.is_none() => {
            let name = group(rest, before)?;
            Some((Kind::Group, name, name.len() + 2))
        }
        _ => None,
    }
}

/// What a number is of, by what stands before it.
fn number(before: &[u8]) -> Option<Kind> {
    if DEVICES.iter().any(|name| before.ends_with(name)) || is_index_of_device(before) {
        return Some(Kind::Device);
    }
    let name = before.trim_ascii_end().strip_suffix(b"=")?.trim_ascii_end();
    let mut kinds = KERNELS.iter().zip([Kind::Kernel, Kind::Constants]);
    let is_it = |word: &[u8]| {
        let front = name.strip_suffix(word);
        front.is_some_and(|front| !front.last().is_some_and(|byte| is_word(*byte)))
    };
    kinds.find(|(word, _)| is_it(word)).map(|(_, kind)| kind)
}

/// The name of a process group at the start of `rest`: an argument by place that is no reduction, or one that is called
/// a group.
fn group<'t>(rest: &'t [u8], before: &[u8]) -> Option<&'t [u8]> {
    let quote = rest.first()?;
    let inside = rest.get(1..)?;
    let len = inside.iter().take(GROUP).position(|byte| byte == quote)?;
    let name = inside.get(..len).filter(|name| !name.is_empty() && !name.contains(&b'\n') && !name.contains(&b'\\'))?;
    let before = before.trim_ascii_end();
    let is_argument = match before.last()? {
        b'(' | b',' => !REDUCTIONS.contains(&name),
        b'=' => {
            let word = before.strip_suffix(b"=")?.trim_ascii_end();
            word.ends_with(b"group_name") || word.ends_with(b"group")
        }
        _ => false,
    };
    is_argument.then_some(name)
}

const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(line: &str) -> String {
        String::from_utf8(without_own(line.as_bytes()).0).unwrap()
    }

    #[test]
    fn numbers_of_kernels_count_from_their_first_use() {
        let wrapper = |kernel: &str, args: &str| {
            format!("triton_kernel_wrapper_mutation(kernel_idx = {kernel}, constant_args_idx={args})")
        };
        assert_eq!(
            numbered(&[wrapper("7", "7"), wrapper("9", "8"), wrapper("7", "11")].join("\n")),
            [wrapper("#0", "#0"), wrapper("#1", "#1"), wrapper("#0", "#2")].join("\n")
        );
        for other in ["my_kernel_idx = 3", "kernel_idx == 3", "idx = 3", "x.kernel_idx = 3"] {
            assert_eq!(numbered(other), other);
        }
    }

    #[test]
    fn groups_are_arguments_of_collectives() {
        for (line, expected, names) in [
            (
                "= torch.ops._c10d_functional.all_gather_into_tensor_out(%0, 4, '3', out = %1)",
                "= torch.ops._c10d_functional.all_gather_into_tensor_out(%0, 4, #0, out = %1)",
                &["3"][..],
            ),
            (
                "= torch.ops._dtensor.shard_dim_alltoall.default(%0, 0, 1, \"tp\")",
                "= torch.ops._dtensor.shard_dim_alltoall.default(%0, 0, 1, #0)",
                &["tp"],
            ),
            (
                "= torch.ops.symm_mem.fused_matmul_reduce_scatter(%0, %1, 'avg', 0, '7')\n= torch.ops.c10d.f(group_name = '7')",
                "= torch.ops.symm_mem.fused_matmul_reduce_scatter(%0, %1, 'avg', 0, #0)\n= torch.ops.c10d.f(group_name = #0)",
                &["7", "7"],
            ),
        ] {
            let (out, groups) = without_own(line.as_bytes());
            assert_eq!(String::from_utf8(out).unwrap(), expected);
            assert_eq!(groups, names);
        }
        for other in [
            "= torch.ops._c10d_functional.all_reduce(%0, 'premul_sum', device = 'cpu')",
            "= f('torch.ops.c10d.', '3')",
            "= my_torch.ops.c10d.f('3')",
            "= torch.ops.c10d.f('it\\'s', ['3'])",
            "= torch.ops.c10d.f()\n= g('3')",
            "= torch.ops.c10d.f('3",
        ] {
            assert_eq!(numbered(other), other);
        }
    }

    #[test]
    fn an_index_is_a_device_s_behind_its_type_only() {
        assert!(is_index_of_device(b"f(device(type='cuda', index="));
        for other in [&b"select(dim=0, index="[..], b"device(type='cuda'), index=", b"device(type='cuda', index=0"] {
            assert!(!is_index_of_device(other));
        }
    }
}
