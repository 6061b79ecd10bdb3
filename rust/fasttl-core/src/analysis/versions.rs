//! Which PyTorch, Python, CUDA and Triton made a log, where it says so.

use crate::format::json;
use crate::format::kind::Kind;
use crate::tables::metrics_fields;
use crate::trace::Log;

/// Versions, as the log writes them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Versions {
    pub(crate) pytorch: Option<String>,
    pub(crate) python: Option<String>,
    pub(crate) cuda: Option<String>,
    pub(crate) triton: Option<String>,
}

/// Reads them from the `torch_version` artifact and the first metrics that have them.
pub(crate) fn versions(log: &Log, bytes: &[u8]) -> Versions {
    let index = &log.index;
    let mut found = Versions::default();
    let artifact = index.records.iter().find(|r| index.names.name(r) == Some("torch_version"));
    if let Some(record) = artifact {
        let text = index.payload(record, bytes).text();
        found.pytorch = json::member(&text, b"pytorch_version").and_then(json::unescape);
    }
    if let Some(record) = index.records.iter().find(|r| r.kind.is(Kind::CompilationMetrics)) {
        let fields = metrics_fields(index.metadata(record, bytes));
        found.pytorch = found.pytorch.or_else(|| fields.text("pytorch_version"));
        found.python = fields.text("python_version").map(|v| v.split_whitespace().next().unwrap_or("").to_owned());
        found.cuda = fields.text("cuda_version").filter(|v| !v.is_empty());
        found.triton = fields.text("triton_version").filter(|v| !v.is_empty());
    }
    found
}
