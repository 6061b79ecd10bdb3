//! The tensors that a compile got: which, of what sizes, strides and types.
//!
//! A size that became a symbol, or was marked as dynamic, is `?`: the same code serves all its values, and batches of
//! ranks may differ.

use rustc_hash::{FxHashMap, FxHashSet};

use super::noise::{plain_condition, without_own};
use crate::analysis::symbols;
use crate::format::json;
use crate::format::kind::Kind;
use crate::trace::Log;

/// An input: how the program reaches it, and what it is.
pub(in crate::analysis::ranks) type Input = (String, String);

/// Stands for a size that may be any.
const ANY: &str = "?";

/// What a record describes.
#[derive(Default)]
struct Tensor {
    size: Vec<String>,
    stride: Option<Vec<String>>,
    dtype: String,
    device: String,
    requires_grad: Option<String>,
    dynamic: FxHashSet<usize>,
    base: Option<i64>,
}

/// The inputs that the records describe, sorted. `records` are those of one try of a compile, `of_symbols` those that it
/// has about symbolic sizes.
pub(in crate::analysis::ranks) fn inputs(
    log: &Log,
    bytes: &[u8],
    (records, of_symbols): (&[usize], &[usize]),
) -> Vec<Input> {
    let mut tensors: FxHashMap<(i64, i64), Tensor> = FxHashMap::default();
    let mut found = Vec::new();
    for record in records.iter().filter_map(|&at| log.index.records.get(at)) {
        let meta = log.index.metadata(record, bytes);
        let int = |key: &[u8]| json::member(meta, key).and_then(json::integer).unwrap_or(-1);
        let describer = int(b"describer_id");
        if record.kind.is(Kind::DescribeTensor) {
            tensors.insert((describer, int(b"id")), Tensor::read(meta));
        } else if record.kind.is(Kind::DescribeSource)
            && let Some(source) = json::member(meta, b"source").and_then(json::unescape)
        {
            found.push(((describer, int(b"id")), source));
        }
    }
    let created = of_symbols.iter().filter_map(|&at| log.index.records.get(at));
    let symbols: FxHashSet<String> = created
        .filter(|record| record.kind.is(Kind::CreateSymbol))
        .filter_map(|record| symbols::source(log.index.metadata(record, bytes)))
        .collect();
    let tensor = |(describer, id): (i64, i64), source: &str| {
        let tensor = tensors.get(&(describer, id))?;
        let text = tensor.words(source, &symbols);
        // A view depends on the tensor that it is a view of.
        let base = tensor.base.and_then(|base| tensors.get(&(describer, base)));
        Some(match base.map(|base| base.words(&format!("{source}._base"), &symbols)) {
            Some(base) => format!("{text}, view of {base}"),
            None => text,
        })
    };
    let input = |(id, source): ((i64, i64), String)| {
        let tensor = tensor(id, &source)?;
        Some((plain_condition(&source, log.rank), tensor))
    };
    let mut inputs: Vec<Input> = found.into_iter().filter_map(input).collect();
    inputs.sort_unstable();
    inputs.dedup();
    inputs
}

impl Tensor {
    fn read(meta: &[u8]) -> Self {
        let mut it = Self::default();
        let text = |value: &[u8]| json::unescape(value).unwrap_or_else(|| String::from_utf8_lossy(value).into_owned());
        let list = |value: &[u8]| json::elements(value).map(|all| all.map(text).collect::<Vec<String>>());
        // Fields up to a fault are kept.
        let _ = json::each_member(meta, |key, value| {
            match key {
                b"size" => it.size = list(value).unwrap_or_default(),
                b"stride" => it.stride = list(value),
                b"dtype" => it.dtype = text(value),
                b"device" => it.device = without_own(text(value), None),
                b"requires_grad" => it.requires_grad = Some(text(value)),
                b"base" => it.base = json::integer(value),
                b"dynamo_dynamic_indices" => {
                    it.dynamic.extend(list(value).unwrap_or_default().iter().filter_map(|n| n.parse::<usize>().ok()));
                }
                _ => {}
            }
            true
        });
        it
    }

    /// `[8, 4] torch.float32, stride [4, 1], device(type='cpu')`.
    fn words(&self, source: &str, symbols: &FxHashSet<String>) -> String {
        let is_any = |at: usize| self.dynamic.contains(&at) || symbols.contains(&format!("{source}.size()[{at}]"));
        let any: Vec<bool> = (0..self.size.len()).map(is_any).collect();
        let shown = |list: &[String], is_any: &dyn Fn(usize) -> bool| {
            let one = |(at, text): (usize, &String)| if is_any(at) { ANY.to_owned() } else { text.clone() };
            format!("[{}]", list.iter().enumerate().map(one).collect::<Vec<_>>().join(", "))
        };
        let mut text = format!("{} {}", shown(&self.size, &|at| any.get(at) == Some(&true)), self.dtype);
        if let Some(stride) = &self.stride {
            // A stride is a product of the sizes behind it.
            let of_any = |at: usize| any.iter().skip(at + 1).any(|any| *any);
            text += &format!(", stride {}", shown(stride, &of_any));
        }
        for (before, value) in
            [(", ", &self.device), (", requires_grad ", self.requires_grad.as_ref().unwrap_or(&String::new()))]
        {
            if !value.is_empty() {
                text += before;
                text += value;
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tensor_is_told_by_what_counts() {
        let meta = br#"{"id": 0, "ndim": 2, "dtype": "torch.float32", "device": "device(type='cuda', index=3)", "size": [8, 4], "is_leaf": true, "stride": [4, 1], "storage": 0, "view_func": "<at 0x7fdefc5d4410>", "describer_id": 0}"#;
        let none = FxHashSet::default();
        let words = |meta: &[u8], symbols: &FxHashSet<String>| Tensor::read(meta).words("L['x']", symbols);
        assert_eq!(words(meta, &none), "[8, 4] torch.float32, stride [4, 1], device(type='cuda', index=#)");
        assert_eq!(words(b"{\"size\": [\"s0\", 4], \"dtype\": 7", &none), "[s0, 4] 7");
        // Sizes that may be any do not count, nor strides that follow from them.
        let marked = br#"{"size": [8, 5], "dtype": "f", "stride": [5, 1], "dynamo_dynamic_indices": [1]}"#;
        assert_eq!(words(marked, &none), "[8, ?] f, stride [?, 1]");
        let symbols = FxHashSet::from_iter(["L['x'].size()[0]".to_owned()]);
        assert_eq!(words(br#"{"size": [8, 5], "dtype": "f"}"#, &symbols), "[?, 5] f");
    }
}
