//! Looks at 16 or 64 bytes at a time, in vectors that every processor has.

use wide::i8x16;

/// Which of 16 bytes are `byte`: all ones for each that is.
pub(super) fn equal(bytes: &[u8; 16], byte: u8) -> i8x16 {
    signed(bytes).simd_eq(i8x16::splat(byte.cast_signed()))
}

fn signed(bytes: &[u8; 16]) -> i8x16 {
    i8x16::new(bytes.map(u8::cast_signed))
}

/// Which are control characters or not ASCII: as signed numbers, both are below the blank.
fn unusual(bytes: &[u8; 16]) -> i8x16 {
    signed(bytes).simd_lt(i8x16::splat(b' '.cast_signed()))
}

/// A bit for each of 16 bytes at which a plain stretch of a JSON string ends: a quote, a backslash, and what is unusual.
pub(super) fn special(bytes: &[u8; 16]) -> u32 {
    (unusual(bytes) | equal(bytes, b'"') | equal(bytes, b'\\')).to_bitmask()
}

/// What stands at each of 64 bytes: a bit each, the first byte's the lowest.
pub(super) struct Bits {
    pub(super) backslashes: u64,
    pub(super) quotes: u64,
    pub(super) letters_n: u64,
    /// Control characters and what is not ASCII.
    pub(super) unusual: u64,
}

impl Bits {
    pub(super) fn of(block: &[u8; 64]) -> Self {
        let mut bits = Self { backslashes: 0, quotes: 0, letters_n: 0, unusual: 0 };
        for (nth, chunk) in block.as_chunks::<16>().0.iter().enumerate() {
            let at = |found: i8x16| u64::from(found.to_bitmask()) << (16 * nth);
            bits.backslashes |= at(equal(chunk, b'\\'));
            bits.quotes |= at(equal(chunk, b'"'));
            bits.letters_n |= at(equal(chunk, b'n'));
            bits.unusual |= at(unusual(chunk));
        }
        bits
    }
}
