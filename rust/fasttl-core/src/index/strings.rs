//! The interned strings of one file. Ids are per file: nothing is shared between ranks.

use super::Interned;

/// Texts by id. An id may be defined twice, and may be used before it is defined.
#[derive(Clone, Debug, Default)]
pub struct Strings {
    /// By id, then by place.
    defs: Vec<Interned>,
}

impl Strings {
    pub(super) fn new(mut defs: Vec<Interned>) -> Self {
        defs.sort_by_key(|def| (def.id, def.offset));
        Self { defs }
    }

    /// The text of `id` for a frame in the record at `offset`: the last definition before it, else the
    /// first one after.
    pub fn get(&self, id: i64, offset: u64) -> Option<&str> {
        let first = self.defs.partition_point(|d| d.id < id);
        let after = self.defs.partition_point(|d| (d.id, d.offset) <= (id, offset));
        let at = if after > first { after - 1 } else { first };
        self.defs.get(at).filter(|d| d.id == id).map(|d| d.text.as_str())
    }

    /// All definitions, by id and place.
    pub fn defs(&self) -> &[Interned] {
        &self.defs
    }

    /// Definitions that give an id another text than it had: place and id.
    pub(crate) fn redefined(&self) -> impl Iterator<Item = (u64, i64)> + '_ {
        self.defs.windows(2).filter_map(|pair| match pair {
            [a, b] if a.id == b.id && a.text != b.text => Some((b.offset, b.id)),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_before_the_use_holds() {
        let def = |offset, id, text: &str| Interned { offset, id, text: text.into() };
        let strings = Strings::new(vec![def(10, 1, "a"), def(90, 1, "b"), def(50, 4_294_967_295, "c")]);
        assert_eq!(strings.get(1, 20), Some("a"));
        assert_eq!(strings.get(1, 100), Some("b"));
        assert_eq!(strings.get(4_294_967_295, 1), Some("c"));
        assert_eq!((strings.get(2, 100), strings.get(-1, 100)), (None, None));
        assert_eq!(strings.redefined().collect::<Vec<_>>(), [(90, 1)]);
    }
}
