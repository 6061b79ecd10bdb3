//! The Inductor compiles of each compile id, told apart by the order of their records.

use rustc_hash::FxHashMap;

use crate::format::compile_id::CompileId;
use crate::format::kind::Kind;
use crate::index::{KindId, Names, Record};
use crate::trace::Log;

/// What generated code is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CodeKind {
    /// Python, with the kernels in it.
    Output,
    /// The wrapper of a compile ahead of time, in C++.
    Wrapper,
    /// Its kernels.
    Kernels,
}

/// One Inductor compile. Texts are given by their records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Part {
    /// Graph before Inductor's passes. A backward has that of its forward.
    pub(crate) pre: Option<usize>,
    before_post: Option<usize>,
    after_post: Option<usize>,
    /// Generated code.
    pub(crate) code: Vec<(CodeKind, usize)>,
    /// The names that belong together.
    pub(crate) mapping: Option<usize>,
    /// Nodes by kernel: all that releases had before there was a mapping.
    pub(crate) kernel_nodes: Option<usize>,
    /// What nodes after the passes were made of, likewise.
    pub(crate) node_origins: Option<usize>,
}

/// What a record is to a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Pre,
    BeforePost,
    AfterPost,
    Code(CodeKind),
    Mapping,
    KernelNodes,
    NodeOrigins,
}

impl Role {
    fn of(record: &Record, names: &Names) -> Option<Self> {
        let name = match record.kind {
            KindId::Known(Kind::Artifact | Kind::GraphDump) => names.name(record)?,
            kind => names.kind(kind),
        };
        Some(match name {
            "before_pre_grad_graph" | "inductor_pre_grad_graph" => Self::Pre,
            "before_post_grad_graph" => Self::BeforePost,
            "after_post_grad_graph" | "inductor_post_grad_graph" => Self::AfterPost,
            "inductor_output_code" => Self::Code(CodeKind::Output),
            "inductor_aot_wrapper_code" | "inductor_aot_code" => Self::Code(CodeKind::Wrapper),
            "inductor_aot_kernel_code" => Self::Code(CodeKind::Kernels),
            "inductor_provenance_tracking_node_mappings" => Self::Mapping,
            "inductor_triton_kernel_to_post_grad_nodes" | "inductor_generated_kernel_to_post_grad_nodes" => {
                Self::KernelNodes
            }
            "inductor_post_to_pre_grad_nodes" => Self::NodeOrigins,
            _ => return None,
        })
    }
}

impl Part {
    /// Graph after Inductor's passes, or where that was not logged the one that they began with.
    pub(crate) fn post(&self) -> Option<usize> {
        self.after_post.or(self.before_post)
    }

    /// Whether the log says how its texts belong together, and has a text to show.
    pub(crate) fn is_tied(&self) -> bool {
        let says = self.mapping.is_some() || self.kernel_nodes.is_some();
        says && (self.post().is_some() || !self.code.is_empty())
    }

    fn is_begun(&self) -> bool {
        self.post().is_some() || self.says_anything()
    }

    fn says_anything(&self) -> bool {
        !self.code.is_empty() || self.mapping.is_some() || self.kernel_nodes.is_some()
    }

    /// Whether a record in that role belongs to the next compile.
    fn ends_before(&self, role: Role) -> bool {
        match role {
            Role::Pre | Role::BeforePost => self.is_begun(),
            Role::AfterPost => self.after_post.is_some() || self.says_anything(),
            // Code comes before its mapping or after it.
            Role::Code(kind) => self.code.iter().any(|(have, _)| *have == kind),
            Role::Mapping => self.mapping.is_some(),
            Role::KernelNodes => self.kernel_nodes.is_some(),
            Role::NodeOrigins => self.node_origins.is_some(),
        }
    }

    fn take(&mut self, role: Role, at: usize) {
        match role {
            Role::Pre => self.pre = Some(at),
            Role::BeforePost => self.before_post = Some(at),
            Role::AfterPost => self.after_post = Some(at),
            Role::Code(kind) => self.code.push((kind, at)),
            Role::Mapping => self.mapping = Some(at),
            Role::KernelNodes => self.kernel_nodes = Some(at),
            Role::NodeOrigins => self.node_origins = Some(at),
        }
    }
}

/// The Inductor compiles of a log by compile id, each list in order.
pub(crate) fn parts(log: &Log) -> FxHashMap<CompileId, Vec<Part>> {
    let names = &log.index.names;
    let mut found: FxHashMap<CompileId, (u32, Vec<Part>)> = FxHashMap::default();
    for (at, record) in log.index.records.iter().enumerate() {
        // On a cache hit a mapping may come without its text.
        if !record.has_payload() || record.text_len == 0 {
            continue;
        }
        let Some(role) = Role::of(record, names) else { continue };
        let id = names.id(record).collapsed();
        let (generation, list) = found.entry(id).or_insert_with(|| (record.generation, vec![Part::default()]));
        let anew = std::mem::replace(generation, record.generation) != record.generation;
        let current = list.last();
        if anew || current.is_none_or(|part| part.ends_before(role)) {
            let pre = current.filter(|_| !anew).and_then(|part| part.pre);
            list.push(Part { pre, ..Part::default() });
        }
        if let Some(part) = list.last_mut() {
            part.take(role, at);
        }
    }
    let whole = |(id, (_, mut list)): (CompileId, (u32, Vec<Part>))| {
        list.retain(|part| part.is_begun() || part.pre.is_some());
        if list.iter().any(Part::is_begun) {
            list.retain(Part::is_begun);
        }
        (id, list)
    };
    found.into_iter().map(whole).collect()
}
