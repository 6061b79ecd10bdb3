//! The tensors that a compile got: which, of what sizes, strides and types.

use rustc_hash::FxHashMap;

use super::noise::without_devices;
use crate::format::json;
use crate::format::kind::Kind;
use crate::trace::Log;

/// An input: how the program reaches it, and what it is.
pub(in crate::analysis::ranks) type Input = (String, String);

/// Members of a description that say what a tensor is, with what stands before each for a person.
const TOLD: [(&[u8], &str); 6] = [
    (b"size", ""),
    (b"dtype", " "),
    (b"stride", ", stride "),
    (b"device", ", "),
    (b"dynamo_dynamic_indices", ", dynamic "),
    (b"requires_grad", ", requires_grad "),
];

/// The inputs that the records describe, sorted. `records` are those of one try of a compile.
pub(in crate::analysis::ranks) fn inputs(log: &Log, bytes: &[u8], records: &[usize]) -> Vec<Input> {
    let mut tensors: FxHashMap<(i64, i64), (String, Option<i64>)> = FxHashMap::default();
    let mut found = Vec::new();
    for record in records.iter().filter_map(|&at| log.index.records.get(at)) {
        let meta = log.index.metadata(record, bytes);
        let int = |key: &[u8]| json::member(meta, key).and_then(json::integer).unwrap_or(-1);
        let describer = int(b"describer_id");
        if record.kind.is(Kind::DescribeTensor) {
            let base = json::member(meta, b"base").and_then(json::integer);
            tensors.insert((describer, int(b"id")), (described(meta), base));
        } else if record.kind.is(Kind::DescribeSource)
            && let Some(source) = json::member(meta, b"source").and_then(json::unescape)
        {
            found.push(((describer, int(b"id")), source));
        }
    }
    let tensor = |(describer, id): (i64, i64)| {
        let (tensor, base) = tensors.get(&(describer, id))?;
        // A view depends on the tensor that it is a view of.
        let base = base.and_then(|base| tensors.get(&(describer, base)));
        Some(base.map_or_else(|| tensor.clone(), |(base, _)| format!("{tensor}, view of {base}")))
    };
    let mut inputs: Vec<Input> = found.into_iter().filter_map(|(id, source)| Some((source, tensor(id)?))).collect();
    inputs.sort_unstable();
    inputs.dedup();
    inputs
}

/// `[8, 4] torch.float32, stride [4, 1], device(type='cpu')`.
fn described(meta: &[u8]) -> String {
    let mut values: [Option<String>; TOLD.len()] = Default::default();
    // Fields up to a fault are kept.
    let _ = json::each_member(meta, |key, value| {
        if let Some(at) = TOLD.iter().position(|(name, _)| *name == key)
            && let Some(place) = values.get_mut(at)
        {
            let text = json::unescape(value).unwrap_or_else(|| String::from_utf8_lossy(value).into_owned());
            *place = Some(without_devices(text));
        }
        true
    });
    let mut text = String::new();
    for ((_, before), value) in TOLD.iter().zip(values) {
        // Python writes an empty list for no dynamic dimension, or nothing.
        if let Some(value) = value.filter(|value| !(before.contains("dynamic") && value == "[]")) {
            text += before;
            text += &value;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tensor_is_told_by_what_counts() {
        let meta = br#"{"id": 0, "ndim": 2, "dtype": "torch.float32", "device": "device(type='cuda', index=3)", "size": [8, 4], "is_leaf": true, "stride": [4, 1], "storage": 0, "view_func": "<at 0x7fdefc5d4410>", "describer_id": 0}"#;
        assert_eq!(described(meta), "[8, 4] torch.float32, stride [4, 1], device(type='cuda', index=#)");
        assert_eq!(described(b"{\"size\": [\"s0\", 4], \"dtype\": 7"), "[\"s0\", 4] 7");
    }
}
