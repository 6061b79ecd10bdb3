//! Vectors of AVX2 and AVX-512, and the one place that calls what is compiled for them.
//!
//! Intrinsics and not plain arrays: the compiler made vectors of 8 and of 16 words only in part, at a third of the speed.
#![expect(unsafe_code, reason = "functions for an extension of the processor may be called only where it is there")]

use std::arch::x86_64::{
    __m256i, __m512i, _mm_cvtsi32_si128, _mm256_add_epi32, _mm256_and_si256, _mm256_andnot_si256, _mm256_loadu_si256,
    _mm256_or_si256, _mm256_permute2x128_si256, _mm256_set1_epi32, _mm256_sll_epi32, _mm256_srl_epi32,
    _mm256_storeu_si256, _mm256_unpackhi_epi32, _mm256_unpackhi_epi64, _mm256_unpacklo_epi32, _mm256_unpacklo_epi64,
    _mm256_xor_si256, _mm512_add_epi32, _mm512_loadu_si512, _mm512_rolv_epi32, _mm512_set1_epi32, _mm512_shuffle_i32x4,
    _mm512_storeu_si512, _mm512_ternarylogic_epi32, _mm512_unpackhi_epi32, _mm512_unpackhi_epi64,
    _mm512_unpacklo_epi32, _mm512_unpacklo_epi64,
};

use super::lanes::{Block, Vector, run};
use crate::format::payload::md5;

pub(super) fn has_avx2() -> bool {
    std::arch::is_x86_feature_detected!("avx2")
}

pub(super) fn has_avx512() -> bool {
    std::arch::is_x86_feature_detected!("avx512f")
}

/// Makes a safe function of the two that work with lanes of an extension.
macro_rules! entry {
    ($(#[$doc:meta])* $name:ident, $has:ident, $feature:literal, $vector:ty, $lanes:literal x $groups:literal) => {
        $(#[$doc])*
        pub(super) fn $name(texts: &[&[u8]], out: &mut Vec<[u8; 16]>) {
            #[target_feature(enable = $feature)]
            fn inner(texts: &[&[u8]], out: &mut Vec<[u8; 16]>) {
                run::<$vector, $lanes, $groups>(texts, out);
            }
            if $has() {
                // SAFETY: the processor has the extension, as was just asked.
                unsafe { inner(texts, out) }
            } else {
                out.extend(texts.iter().map(|text| md5(text)));
            }
        }
    };
}

entry!(
    /// As [`super::md5_many_with`], eight at a time.
    eight, has_avx2, "avx2", Avx2, 8 x 1);
entry!(
    /// As [`super::md5_many_with`], sixteen at a time.
    eight_twice, has_avx2, "avx2", Avx2, 8 x 2);
entry!(
    /// As [`super::md5_many_with`], sixteen at a time.
    sixteen, has_avx512, "avx512f", Avx512, 16 x 1);
entry!(
    /// As [`super::md5_many_with`], thirty-two at a time.
    thirty_two, has_avx512, "avx512f", Avx512, 16 x 2);

/// Eight words. Named only by the functions above that were compiled for AVX2, into which all of its own are inlined,
/// so that the processor has the extension wherever one of these runs.
#[derive(Clone, Copy)]
struct Avx2(__m256i);

impl Vector<8> for Avx2 {
    #[inline(always)]
    fn splat(word: u32) -> Self {
        // SAFETY: see `Avx2`.
        Self(unsafe { _mm256_set1_epi32(word.cast_signed()) })
    }

    #[inline(always)]
    fn pack(words: [u32; 8]) -> Self {
        // SAFETY: 32 bytes are read from an array of 32 bytes; see `Avx2`.
        Self(unsafe { _mm256_loadu_si256(words.as_ptr().cast()) })
    }

    #[inline(always)]
    fn unpack(self) -> [u32; 8] {
        let mut words = [0; 8];
        // SAFETY: 32 bytes are written to an array of 32 bytes; see `Avx2`.
        unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), self.0) };
        words
    }

    #[inline(always)]
    fn load(blocks: [&Block; 8]) -> [Self; 16] {
        // SAFETY: see `Avx2`.
        unsafe { transpose_8(blocks) }
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        // SAFETY: see `Avx2`.
        Self(unsafe { _mm256_add_epi32(self.0, other.0) })
    }

    #[inline(always)]
    fn rotate<const LEFT: u32>(self) -> Self {
        // SAFETY: see `Avx2`.
        Self(unsafe {
            _mm256_or_si256(
                _mm256_sll_epi32(self.0, _mm_cvtsi32_si128(LEFT.cast_signed())),
                _mm256_srl_epi32(self.0, _mm_cvtsi32_si128(32 - LEFT.cast_signed())),
            )
        })
    }

    #[inline(always)]
    fn choose(self, yes: Self, no: Self) -> Self {
        // SAFETY: see `Avx2`.
        Self(unsafe { _mm256_or_si256(_mm256_and_si256(self.0, yes.0), _mm256_andnot_si256(self.0, no.0)) })
    }

    #[inline(always)]
    fn parity(self, b: Self, c: Self) -> Self {
        // SAFETY: see `Avx2`.
        Self(unsafe { _mm256_xor_si256(self.0, _mm256_xor_si256(b.0, c.0)) })
    }

    #[inline(always)]
    fn last(self, b: Self, c: Self) -> Self {
        // SAFETY: see `Avx2`.
        Self(unsafe { _mm256_xor_si256(self.0, _mm256_or_si256(b.0, _mm256_xor_si256(c.0, _mm256_set1_epi32(-1)))) })
    }
}

/// The words of eight blocks, word by word: four words of four blocks at a time, then the halves that belong together.
#[target_feature(enable = "avx2")]
#[inline]
fn transpose_8(blocks: [&Block; 8]) -> [Avx2; 16] {
    let [first, second] = [[blocks[0], blocks[1], blocks[2], blocks[3]], [blocks[4], blocks[5], blocks[6], blocks[7]]];
    let (w, x) = (quads_8::<0>(first), quads_8::<0>(second));
    let (y, z) = (quads_8::<32>(first), quads_8::<32>(second));
    let low = |a, b| Avx2(_mm256_permute2x128_si256::<0x20>(a, b));
    let high = |a, b| Avx2(_mm256_permute2x128_si256::<0x31>(a, b));
    [
        low(w[0], x[0]),
        low(w[1], x[1]),
        low(w[2], x[2]),
        low(w[3], x[3]),
        high(w[0], x[0]),
        high(w[1], x[1]),
        high(w[2], x[2]),
        high(w[3], x[3]),
        low(y[0], z[0]),
        low(y[1], z[1]),
        low(y[2], z[2]),
        low(y[3], z[3]),
        high(y[0], z[0]),
        high(y[1], z[1]),
        high(y[2], z[2]),
        high(y[3], z[3]),
    ]
}

/// Half `h` of vector `w` has word `4h + w` of the four blocks, counted from byte `FROM`.
#[target_feature(enable = "avx2")]
#[inline]
fn quads_8<const FROM: usize>([a, b, c, d]: [&Block; 4]) -> [__m256i; 4] {
    const { assert!(FROM <= 32) };
    // SAFETY: 32 bytes from a byte up to 32 on are inside of a block of 64.
    let half = |block: &Block| unsafe { _mm256_loadu_si256(block.as_ptr().add(FROM).cast()) };
    let (a, b, c, d) = (half(a), half(b), half(c), half(d));
    let (low_ab, high_ab) = (_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
    let (low_cd, high_cd) = (_mm256_unpacklo_epi32(c, d), _mm256_unpackhi_epi32(c, d));
    [
        _mm256_unpacklo_epi64(low_ab, low_cd),
        _mm256_unpackhi_epi64(low_ab, low_cd),
        _mm256_unpacklo_epi64(high_ab, high_cd),
        _mm256_unpackhi_epi64(high_ab, high_cd),
    ]
}

/// Sixteen words. As [`Avx2`], for AVX-512.
#[derive(Clone, Copy)]
struct Avx512(__m512i);

impl Vector<16> for Avx512 {
    #[inline(always)]
    fn splat(word: u32) -> Self {
        // SAFETY: see `Avx512`.
        Self(unsafe { _mm512_set1_epi32(word.cast_signed()) })
    }

    #[inline(always)]
    fn pack(words: [u32; 16]) -> Self {
        // SAFETY: 64 bytes are read from an array of 64 bytes; see `Avx512`.
        Self(unsafe { _mm512_loadu_si512(words.as_ptr().cast()) })
    }

    #[inline(always)]
    fn unpack(self) -> [u32; 16] {
        let mut words = [0; 16];
        // SAFETY: 64 bytes are written to an array of 64 bytes; see `Avx512`.
        unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), self.0) };
        words
    }

    #[inline(always)]
    fn load(blocks: [&Block; 16]) -> [Self; 16] {
        // SAFETY: see `Avx512`.
        unsafe { transpose_16(blocks) }
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        // SAFETY: see `Avx512`.
        Self(unsafe { _mm512_add_epi32(self.0, other.0) })
    }

    #[inline(always)]
    fn rotate<const LEFT: u32>(self) -> Self {
        // SAFETY: see `Avx512`.
        Self(unsafe { _mm512_rolv_epi32(self.0, _mm512_set1_epi32(LEFT.cast_signed())) })
    }

    // The last argument is the table of the function: bit 4a + 2b + c is its value.

    #[inline(always)]
    fn choose(self, yes: Self, no: Self) -> Self {
        // SAFETY: see `Avx512`.
        Self(unsafe { _mm512_ternarylogic_epi32::<0b1100_1010>(self.0, yes.0, no.0) })
    }

    #[inline(always)]
    fn parity(self, b: Self, c: Self) -> Self {
        // SAFETY: see `Avx512`.
        Self(unsafe { _mm512_ternarylogic_epi32::<0b1001_0110>(self.0, b.0, c.0) })
    }

    #[inline(always)]
    fn last(self, b: Self, c: Self) -> Self {
        // SAFETY: see `Avx512`.
        Self(unsafe { _mm512_ternarylogic_epi32::<0b0010_1101>(self.0, b.0, c.0) })
    }
}

/// The words of sixteen blocks, word by word.
#[target_feature(enable = "avx512f")]
#[inline]
fn transpose_16(blocks: [&Block; 16]) -> [Avx512; 16] {
    let q = quads_16([blocks[0], blocks[1], blocks[2], blocks[3]]);
    let r = quads_16([blocks[4], blocks[5], blocks[6], blocks[7]]);
    let s = quads_16([blocks[8], blocks[9], blocks[10], blocks[11]]);
    let t = quads_16([blocks[12], blocks[13], blocks[14], blocks[15]]);
    let [w0, w4, w8, w12] = join_16(q[0], r[0], s[0], t[0]);
    let [w1, w5, w9, w13] = join_16(q[1], r[1], s[1], t[1]);
    let [w2, w6, w10, w14] = join_16(q[2], r[2], s[2], t[2]);
    let [w3, w7, w11, w15] = join_16(q[3], r[3], s[3], t[3]);
    [w0, w1, w2, w3, w4, w5, w6, w7, w8, w9, w10, w11, w12, w13, w14, w15]
}

/// Quarter `q` of vector `w` has word `4q + w` of the four blocks.
#[target_feature(enable = "avx512f")]
#[inline]
fn quads_16([a, b, c, d]: [&Block; 4]) -> [__m512i; 4] {
    // SAFETY: 64 bytes are read from a block of 64.
    let whole = |block: &Block| unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
    let (a, b, c, d) = (whole(a), whole(b), whole(c), whole(d));
    let (low_ab, high_ab) = (_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
    let (low_cd, high_cd) = (_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
    [
        _mm512_unpacklo_epi64(low_ab, low_cd),
        _mm512_unpackhi_epi64(low_ab, low_cd),
        _mm512_unpacklo_epi64(high_ab, high_cd),
        _mm512_unpackhi_epi64(high_ab, high_cd),
    ]
}

/// The first quarters of the four vectors, then their second, third and fourth ones.
#[target_feature(enable = "avx512f")]
#[inline]
fn join_16(a: __m512i, b: __m512i, c: __m512i, d: __m512i) -> [Avx512; 4] {
    let (low_ab, high_ab) = (_mm512_shuffle_i32x4::<0x44>(a, b), _mm512_shuffle_i32x4::<0xEE>(a, b));
    let (low_cd, high_cd) = (_mm512_shuffle_i32x4::<0x44>(c, d), _mm512_shuffle_i32x4::<0xEE>(c, d));
    [
        Avx512(_mm512_shuffle_i32x4::<0x88>(low_ab, low_cd)),
        Avx512(_mm512_shuffle_i32x4::<0xDD>(low_ab, low_cd)),
        Avx512(_mm512_shuffle_i32x4::<0x88>(high_ab, high_cd)),
        Avx512(_mm512_shuffle_i32x4::<0xDD>(high_ab, high_cd)),
    ]
}
