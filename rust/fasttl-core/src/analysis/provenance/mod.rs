//! Which lines of a graph and of generated code belong together.
//!
//! Inductor logs names: the nodes before its passes, the nodes after them, and the kernels. Here they become
//! lines of the texts that the log holds. One compile id holds several Inductor compiles (forward, backward,
//! pieces of a split graph); see [`parts`]. Nothing here knows HTML.

mod code;
mod graph;
mod parts;
mod read;
mod tie;

pub(crate) use parts::{CodeKind, Part, parts};
pub(crate) use read::Mapping;
pub(crate) use tie::{At, Node, Row, Side, Ties, tie};

/// Which of the compiles of one graph a part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// Forward, with a backward to come.
    Forward,
    /// Backward.
    Backward,
    /// Forward alone.
    Inference,
}

impl Direction {
    /// Name on pages.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Backward => "backward",
            Self::Inference => "inference",
        }
    }

    /// What generated code says in its first lines, or else what the inputs of the graph say.
    pub(crate) fn of(code: &[u8], post: &[u8]) -> Option<Self> {
        let head = code.get(..code.len().min(4096)).unwrap_or_default();
        let id = head.split(|&b| b == b'\n').find(|line| line.starts_with(b"# AOT ID:"));
        let says = |word: &[u8]| id.is_some_and(|id| memchr::memmem::find(id, word).is_some());
        if says(b"_forward'") {
            Some(Self::Forward)
        } else if says(b"_backward'") {
            Some(Self::Backward)
        } else if says(b"_inference'") {
            Some(Self::Inference)
        } else {
            let inputs =
                post.split(|&b| b == b'\n').take(8).find(|line| line.trim_ascii().starts_with(b"def forward("));
            inputs.filter(|line| memchr::memmem::find(line, b"tangents_").is_some()).map(|_| Self::Backward)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_says_which_it_is() {
        let code = |id: &str| format!("\n# AOT ID: ['{id}']\nimport x\n");
        let of = |id: &str| Direction::of(code(id).as_bytes(), b"");
        assert_eq!(of("0_forward"), Some(Direction::Forward));
        assert_eq!(of("12_backward"), Some(Direction::Backward));
        assert_eq!(of("0_inference"), Some(Direction::Inference));
        let post = b"class G(torch.nn.Module):\n    def forward(self, a, tangents_1: \"f32[]\"):\n";
        assert_eq!(Direction::of(b"", post), Some(Direction::Backward));
        assert_eq!(Direction::of(b"# AOT ID: 3", b"def forward(self, a):"), None);
    }
}
