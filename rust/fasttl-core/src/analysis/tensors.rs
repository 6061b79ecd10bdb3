//! Tensors as the compiler saw them, and table `tensors`: descriptions of tensors joined with their memory and
//! with the way user code reaches them.
//!
//! Ids are unique for one describer only, and describers start again with each compile.

use std::borrow::Cow;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::error::Result;
use crate::format::json;
use crate::format::kind::Kind;
use crate::index::{KindId, Record};
use crate::tables::{Row, Table, TableBuilder, TableDef, compile_columns};
use crate::trace::{Log, Trace};

pub(super) const TENSORS: TableDef =
    TableDef { name: "tensors", about: "a tensor that the compiler described, with its source", build };

/// What a record of the three kinds says.
#[derive(Clone, Default)]
struct Described {
    describer: i64,
    id: i64,
    cells: Cells,
}

#[derive(Clone, Default)]
struct Cells {
    ndim: Option<i64>,
    dtype: Option<String>,
    device: Option<String>,
    layout: Option<String>,
    size: Option<Vec<String>>,
    stride: Option<Vec<String>>,
    storage_offset: Option<String>,
    storage: Option<i64>,
    requires_grad: Option<bool>,
    is_parameter: Option<bool>,
    is_view: Option<bool>,
    dynamic: Option<Vec<String>>,
    source: Option<String>,
    bytes: Option<i64>,
    extra: Option<String>,
}

struct TensorRow<'t> {
    row: Row<'t>,
    it: Described,
}

fn build(trace: &Trace) -> Result<Table> {
    let mut rows: Vec<TensorRow<'_>> = Vec::new();
    for (file, log) in (0..).zip(&trace.logs) {
        let view = log.view()?;
        rows.append(&mut of_log(file, log, &view));
    }
    let builder = compile_columns(TableBuilder::new(&rows), |r| r.row)
        .u64("offset", "Byte at which the record starts.", |r| Some(r.row.record.offset))
        .i64("describer_id", "Number of the describer; ids are unique for one.", |r| Some(r.it.describer))
        .i64("tensor_id", "Number of the tensor.", |r| Some(r.it.id))
        .text("source", "How user code reaches it, such as `L['x']`; null where the log does not say.", |r| {
            r.it.cells.source.as_deref().map(Cow::Borrowed)
        });
    shape_columns(builder)
        .i64("storage_id", "Number of its memory.", |r| r.it.cells.storage)
        .i64("storage_bytes", "Bytes of its memory.", |r| r.it.cells.bytes)
        .bool("requires_grad", "Whether it wants a gradient.", |r| r.it.cells.requires_grad)
        .bool("is_parameter", "Whether it is a parameter of a module.", |r| r.it.cells.is_parameter)
        .bool("is_view", "Whether it is a view of another tensor.", |r| r.it.cells.is_view)
        .text("extra", "All other fields of the record, as a JSON object.", |r| {
            r.it.cells.extra.as_deref().map(Cow::Borrowed)
        })
        .finish("tensors")
}

fn shape_columns<'r>(builder: TableBuilder<'r, TensorRow<'r>>) -> TableBuilder<'r, TensorRow<'r>> {
    builder
        .i64("ndim", "Number of dimensions.", |r| r.it.cells.ndim)
        .texts("size", "Size of each dimension: a number or a symbol.", |r| r.it.cells.size.clone())
        .texts("stride", "Stride of each dimension in elements; null where the record has none.", |r| {
            r.it.cells.stride.clone()
        })
        .text("storage_offset", "Elements before the first, 0 unless logged.", |r| {
            Some(r.it.cells.storage_offset.as_deref().map_or(Cow::Borrowed("0"), Cow::Borrowed))
        })
        .name("dtype", "Type of the elements.", |r| r.it.cells.dtype.as_deref().map(Cow::Borrowed))
        .name("device", "Where it lives, as Python prints it.", |r| r.it.cells.device.as_deref().map(Cow::Borrowed))
        .name("layout", "Layout, torch.strided unless logged.", |r| {
            Some(r.it.cells.layout.as_deref().map_or(Cow::Borrowed("torch.strided"), Cow::Borrowed))
        })
        .texts("dynamic_dims", "Dimensions that were marked as dynamic.", |r| r.it.cells.dynamic.clone())
}

fn of_log<'t>(file: u32, log: &'t Log, bytes: &[u8]) -> Vec<TensorRow<'t>> {
    let wanted = |record: &&Record| {
        matches!(record.kind, KindId::Known(Kind::DescribeTensor | Kind::DescribeSource | Kind::DescribeStorage))
    };
    let records: Vec<&Record> = log.index.records.iter().filter(wanted).collect();
    let read: Vec<Described> =
        records.par_iter().map(|record| describe(log.index.metadata(record, bytes), record.kind)).collect();
    // A describer gives a number away once; ids start again with `torch._dynamo.reset()`.
    let mut sources: FxHashMap<(u32, i64, i64), &str> = FxHashMap::default();
    let mut sizes: FxHashMap<(u32, i64, i64), i64> = FxHashMap::default();
    for (record, found) in records.iter().zip(&read) {
        let key = (record.generation, found.describer, found.id);
        if let Some(source) = &found.cells.source {
            sources.entry(key).or_insert(source);
        }
        if let Some(bytes) = found.cells.bytes {
            sizes.entry(key).or_insert(bytes);
        }
    }
    let tensor = |(record, found): (&&'t Record, &Described)| {
        if !record.kind.is(Kind::DescribeTensor) {
            return None;
        }
        let mut it = found.clone();
        it.cells.source = sources.get(&(record.generation, it.describer, it.id)).map(|s| (*s).to_owned());
        let storage = it.cells.storage;
        it.cells.bytes = storage.and_then(|id| sizes.get(&(record.generation, it.describer, id)).copied());
        Some(TensorRow { row: Row { file, log, record }, it })
    };
    records.iter().zip(&read).filter_map(tensor).collect()
}

fn describe(meta: &[u8], kind: KindId) -> Described {
    let mut it = Described { describer: -1, id: -1, cells: Cells::default() };
    let mut extra: Vec<(String, String)> = Vec::new();
    let is_storage = kind.is(Kind::DescribeStorage);
    // Fields up to a fault are kept; a broken head is no record, so there is none.
    let _ = json::each_member(meta, |key, value| {
        let text = || json::unescape(value);
        let flag = || Some(value == b"true");
        let cells = &mut it.cells;
        match key {
            b"describer_id" => it.describer = json::integer(value).unwrap_or(-1),
            b"id" => it.id = json::integer(value).unwrap_or(-1),
            b"size" if is_storage => cells.bytes = json::integer(value),
            b"ndim" => cells.ndim = json::integer(value),
            b"dtype" => cells.dtype = text(),
            b"device" => cells.device = text(),
            b"layout" => cells.layout = text(),
            b"size" => cells.size = Some(list(value)),
            b"stride" => cells.stride = Some(list(value)),
            b"storage_offset" => cells.storage_offset = Some(word(value)),
            b"storage" => cells.storage = json::integer(value),
            b"requires_grad" => cells.requires_grad = flag(),
            b"is_parameter" => cells.is_parameter = flag(),
            b"is_view" => cells.is_view = flag(),
            b"dynamo_dynamic_indices" => cells.dynamic = Some(list(value)),
            b"source" => cells.source = text(),
            _ => extra.push((json::unescape_inner(key), String::from_utf8_lossy(value).into_owned())),
        }
        true
    });
    if !extra.is_empty() {
        let members: Vec<String> =
            extra.iter().map(|(key, value)| format!("{}: {value}", serde_json::Value::from(key.as_str()))).collect();
        it.cells.extra = Some(format!("{{{}}}", members.join(", ")));
    }
    it
}

/// A number as it stands, a text without its quotes.
fn word(value: &[u8]) -> String {
    json::unescape(value).unwrap_or_else(|| String::from_utf8_lossy(value).into_owned())
}

fn list(value: &[u8]) -> Vec<String> {
    json::elements(value).map(|all| all.map(word).collect()).unwrap_or_default()
}
