//! MD5 of many texts side by side, each in its own lane of vector registers.
//!
//! MD5 is one chain of dependent steps, so that a core is mostly waiting while it hashes one text. A vector
//! register does the same steps for 4 to 16 texts in the same time, and a second set of registers fills the
//! waits of the first. Texts are independent and differ in length: a lane that comes to the end of its text
//! takes the next one, the longest first, so that all lanes end at about the same time.
//!
//! `lanes.rs` feeds the lanes and has the steps, for any kind of vector; `portable.rs` and `x86.rs` are the vectors.
#![expect(
    clippy::inline_always,
    reason = "a function gets the instructions of the extension only inside of one that was compiled for it"
)]

mod lanes;
mod portable;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod x86;

use super::payload::md5;

/// How many texts are hashed side by side, and with what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lanes {
    /// One after another.
    Scalar,
    /// Four in the vector registers that every processor of the target has.
    Four,
    /// Eight in the registers of AVX2.
    Eight,
    /// Two times eight in the registers of AVX2.
    EightTwice,
    /// Sixteen in the registers of AVX-512.
    Sixteen,
    /// Two times sixteen in the registers of AVX-512.
    ThirtyTwo,
}

impl Lanes {
    const ALL: [Self; 6] = [Self::Scalar, Self::Four, Self::Eight, Self::EightTwice, Self::Sixteen, Self::ThirtyTwo];

    /// The fastest for many texts that this processor can do.
    pub fn best() -> Self {
        Self::available().last().unwrap_or(Self::Scalar)
    }

    /// All that this processor can do, from narrow to wide.
    pub fn available() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|lanes| lanes.is_available())
    }

    /// Texts side by side.
    pub const fn count(self) -> usize {
        match self {
            Self::Scalar => 1,
            Self::Four => 4,
            Self::Eight => 8,
            Self::EightTwice | Self::Sixteen => 16,
            Self::ThirtyTwo => 32,
        }
    }

    #[cfg(target_arch = "x86_64")]
    fn is_available(self) -> bool {
        match self {
            Self::Scalar | Self::Four => true,
            Self::Eight | Self::EightTwice => x86::has_avx2(),
            Self::Sixteen | Self::ThirtyTwo => x86::has_avx512(),
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn is_available(self) -> bool {
        // The vector registers of 64-bit ARM are part of its base; of others nothing is known.
        self == Self::Scalar || self == Self::Four && cfg!(target_arch = "aarch64")
    }

    /// Time of one block in each lane, in hundredths of a block of [`Self::Scalar`], as measured.
    const fn cost(self) -> usize {
        match self {
            Self::Scalar => 100,
            Self::Sixteen => 105,
            Self::Eight => 115,
            Self::ThirtyTwo => 150,
            Self::Four | Self::EightTwice => 175,
        }
    }

    /// What texts of `blocks` blocks together cost, the longest of which has `longest`: no lane is done before that one.
    fn estimate(self, blocks: usize, longest: usize) -> usize {
        self.cost().saturating_mul(longest.max(blocks.div_ceil(self.count())))
    }
}

/// Makes `out` the MD5 of each of `texts`, by the way that is the fastest for them on this processor.
///
/// ```
/// use fasttl_core::format::md5_lanes::md5_many;
/// use fasttl_core::format::payload::md5;
///
/// let mut out = Vec::new();
/// md5_many(&[b"a", b"", b"bc"], &mut out);
/// assert_eq!(out, [md5(b"a"), md5(b""), md5(b"bc")]);
/// ```
pub fn md5_many(texts: &[&[u8]], out: &mut Vec<[u8; 16]>) {
    let blocks = texts.iter().map(|text| lanes::blocks(text)).sum();
    let longest = texts.iter().map(|text| lanes::blocks(text)).max().unwrap_or_default();
    let lanes = Lanes::available().min_by_key(|lanes| lanes.estimate(blocks, longest)).unwrap_or(Lanes::Scalar);
    md5_many_with(lanes, texts, out);
}

/// Makes `out` the MD5 of each of `texts`, with `lanes`; one after another where the processor does not have them.
pub fn md5_many_with(lanes: Lanes, texts: &[&[u8]], out: &mut Vec<[u8; 16]>) {
    out.clear();
    match lanes {
        _ if !lanes.is_available() => out.extend(texts.iter().map(|text| md5(text))),
        Lanes::Four => portable::four(texts, out),
        #[cfg(target_arch = "x86_64")]
        Lanes::Eight => x86::eight(texts, out),
        #[cfg(target_arch = "x86_64")]
        Lanes::EightTwice => x86::eight_twice(texts, out),
        #[cfg(target_arch = "x86_64")]
        Lanes::Sixteen => x86::sixteen(texts, out),
        #[cfg(target_arch = "x86_64")]
        Lanes::ThirtyTwo => x86::thirty_two(texts, out),
        _ => out.extend(texts.iter().map(|text| md5(text))),
    }
}
