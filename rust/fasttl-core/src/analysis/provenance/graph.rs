//! The lines of a graph's text by the names of its nodes.

use rustc_hash::FxHashMap;

/// Line (from 1) on which each node is made; of equal names the first.
pub(super) fn nodes(text: &[u8]) -> FxHashMap<&str, usize> {
    let mut found = FxHashMap::default();
    for (n, line) in (1..).zip(text.split(|&b| b == b'\n')) {
        let line = line.utf8_chunks().next().map_or("", |chunk| chunk.valid());
        let begin = line.trim_start();
        if let Some(inputs) = begin.strip_prefix("def forward(") {
            for name in inputs_of(inputs) {
                found.entry(name).or_insert(n);
            }
        } else if let Some(name) = made_by(begin) {
            found.entry(name).or_insert(n);
        }
    }
    found
}

/// `name: "type" = …` or `name = …`.
fn made_by(line: &str) -> Option<&str> {
    let name = word(line);
    let rest = line.get(name.len()..)?.trim_start();
    let made = rest.starts_with(':') || (rest.starts_with('=') && !rest.starts_with("=="));
    (made && !name.is_empty()).then_some(name)
}

/// Names of `self, a: "f32[8, 10]", b`; what is quoted is a type.
fn inputs_of(list: &str) -> impl Iterator<Item = &str> {
    let outside = list.split('"').step_by(2);
    outside.flat_map(|piece| piece.split(',')).map(|piece| word(piece.trim_start())).filter(|name| !name.is_empty())
}

/// The identifier that a text begins with.
fn word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_have_lines() {
        let text = "class G(torch.nn.Module):\n    def forward(self, x: \"f32[8, 10][10, 1]cpu\", y: \"f32[1]\"):\n        \
            # File: a.py:3 in f, code: z = x\n        z: \"f32[8]\" = torch.add(x, y);  x = y = None\n        \
            var_mean = torch.var(z)\n        z: \"f32[8]\" = again(z)\n        return (z,)\n";
        let nodes = nodes(text.as_bytes());
        let line = |name: &str| nodes.get(name).copied();
        assert_eq!((line("x"), line("y"), line("z"), line("var_mean")), (Some(2), Some(2), Some(4), Some(5)));
        assert_eq!((line("File"), line("return"), line("10"), line("f32")), (None, None, None, None));
    }
}
