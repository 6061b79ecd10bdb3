//! Vectors in plain Rust, which the compiler puts into the registers of SSE2 or NEON.

use super::lanes::{Block, Vector, run};

/// As [`super::md5_many_with`], four at a time.
pub(super) fn four(texts: &[&[u8]], out: &mut Vec<[u8; 16]>) {
    run::<[u32; 4], 4, 1>(texts, out);
}

impl Vector<4> for [u32; 4] {
    #[inline(always)]
    fn splat(word: u32) -> Self {
        [word; 4]
    }

    #[inline(always)]
    fn pack(words: [u32; 4]) -> Self {
        words
    }

    #[inline(always)]
    fn unpack(self) -> [u32; 4] {
        self
    }

    #[inline(always)]
    fn load(blocks: [&Block; 4]) -> [Self; 16] {
        let mut words = [[0; 4]; 16];
        for (lane, block) in blocks.into_iter().enumerate() {
            for (vector, word) in words.iter_mut().zip(block.as_chunks().0) {
                if let Some(to) = vector.get_mut(lane) {
                    *to = u32::from_le_bytes(*word);
                }
            }
        }
        words
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        each([self, other, other], |[a, b, _]| a.wrapping_add(b))
    }

    #[inline(always)]
    fn rotate<const LEFT: u32>(self) -> Self {
        each([self, self, self], |[a, _, _]| a.rotate_left(LEFT))
    }

    #[inline(always)]
    fn choose(self, yes: Self, no: Self) -> Self {
        each([self, yes, no], |[a, b, c]| c ^ (a & (b ^ c)))
    }

    #[inline(always)]
    fn parity(self, b: Self, c: Self) -> Self {
        each([self, b, c], |[a, b, c]| a ^ b ^ c)
    }

    #[inline(always)]
    fn last(self, b: Self, c: Self) -> Self {
        each([self, b, c], |[a, b, c]| a ^ (b | !c))
    }
}

#[inline(always)]
fn each([a, b, c]: [[u32; 4]; 3], f: impl Fn([u32; 3]) -> u32) -> [u32; 4] {
    [f([a[0], b[0], c[0]]), f([a[1], b[1], c[1]]), f([a[2], b[2], c[2]]), f([a[3], b[3], c[3]])]
}
