//! Numbers for values that come again and again.

use std::borrow::Borrow;
use std::hash::Hash;

use rustc_hash::FxHashMap;

/// Gives equal values the same number, counting from 0 in order of first sight.
#[derive(Debug)]
pub(super) struct Interner<T> {
    ids: FxHashMap<T, u32>,
    values: Vec<T>,
}

impl<T> Default for Interner<T> {
    fn default() -> Self {
        Self { ids: FxHashMap::default(), values: Vec::new() }
    }
}

impl<T: Clone + Eq + Hash> Interner<T> {
    /// The number of `value`, which is copied when it is new.
    pub(super) fn id<Q>(&mut self, value: &Q) -> u32
    where
        T: Borrow<Q>,
        Q: Eq + Hash + ToOwned<Owned = T> + ?Sized,
    {
        if let Some(&id) = self.ids.get(value) {
            return id;
        }
        let id = u32::try_from(self.values.len()).unwrap_or(u32::MAX - 1);
        self.ids.insert(value.to_owned(), id);
        self.values.push(value.to_owned());
        id
    }

    /// The values by number.
    pub(super) fn into_values(self) -> Vec<T> {
        self.values
    }

    /// The values by number.
    pub(super) fn values(&self) -> &[T] {
        &self.values
    }
}
