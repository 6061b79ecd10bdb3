//! The open brackets around a place in a JSON text.

/// The open brackets around a place, the innermost last: one bit each, set for an object.
#[derive(Default)]
pub(super) struct Open {
    innermost: u64,
    pub(super) depth: usize,
    /// Whole words of brackets further out; real heads have none.
    outer: Vec<u64>,
}

impl Open {
    pub(super) fn push(&mut self, is_object: bool) {
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.outer.push(self.innermost);
        }
        self.innermost = self.innermost << 1 | u64::from(is_object);
        self.depth += 1;
    }

    /// Whether the innermost one is an object; `None` where all are closed.
    pub(super) fn last(&self) -> Option<bool> {
        (self.depth > 0).then_some(self.innermost & 1 == 1)
    }

    pub(super) fn pop(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        self.innermost >>= 1;
        if self.depth > 0
            && self.depth.is_multiple_of(64)
            && let Some(word) = self.outer.pop()
        {
            self.innermost = word;
        }
    }
}
