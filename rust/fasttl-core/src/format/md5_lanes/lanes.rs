//! Feeds lanes with texts and does the steps of MD5 in all of them, for any kind of vector.

use std::cmp::Reverse;

/// What MD5 reads at a time.
pub(super) type Block = [u8; 64];

/// `N` words of 32 bits that are worked on together.
///
/// Its functions are inlined into the one that was compiled for the processor's extension.
pub(super) trait Vector<const N: usize>: Copy {
    /// `word` in every lane.
    fn splat(word: u32) -> Self;
    /// A word for each lane.
    fn pack(words: [u32; N]) -> Self;
    /// The word of each lane.
    fn unpack(self) -> [u32; N];
    /// The sixteen words of a block in each lane: vector `i` has word `i` of every block.
    fn load(blocks: [&Block; N]) -> [Self; 16];
    /// Sum without carry.
    fn plus(self, other: Self) -> Self;
    /// Rotation to the left.
    fn rotate<const LEFT: u32>(self) -> Self;
    /// Bits of `yes` where `self` has a one, of `no` where it has not.
    fn choose(self, yes: Self, no: Self) -> Self;
    /// `self ^ b ^ c`.
    fn parity(self, b: Self, c: Self) -> Self;
    /// `self ^ (b | !c)`: the function of the last round.
    fn last(self, b: Self, c: Self) -> Self;
}

/// The words of the state before the first block.
const START: [u32; 4] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];

/// What each step adds: the first 32 bits of the fraction of `|sin(step)|`, steps counted from 1.
#[rustfmt::skip]
const SINES: [[[u32; 4]; 4]; 4] = [
    [
        [0xd76a_a478, 0xe8c7_b756, 0x2420_70db, 0xc1bd_ceee], [0xf57c_0faf, 0x4787_c62a, 0xa830_4613, 0xfd46_9501],
        [0x6980_98d8, 0x8b44_f7af, 0xffff_5bb1, 0x895c_d7be], [0x6b90_1122, 0xfd98_7193, 0xa679_438e, 0x49b4_0821],
    ],
    [
        [0xf61e_2562, 0xc040_b340, 0x265e_5a51, 0xe9b6_c7aa], [0xd62f_105d, 0x0244_1453, 0xd8a1_e681, 0xe7d3_fbc8],
        [0x21e1_cde6, 0xc337_07d6, 0xf4d5_0d87, 0x455a_14ed], [0xa9e3_e905, 0xfcef_a3f8, 0x676f_02d9, 0x8d2a_4c8a],
    ],
    [
        [0xfffa_3942, 0x8771_f681, 0x6d9d_6122, 0xfde5_380c], [0xa4be_ea44, 0x4bde_cfa9, 0xf6bb_4b60, 0xbebf_bc70],
        [0x289b_7ec6, 0xeaa1_27fa, 0xd4ef_3085, 0x0488_1d05], [0xd9d4_d039, 0xe6db_99e5, 0x1fa2_7cf8, 0xc4ac_5665],
    ],
    [
        [0xf429_2244, 0x432a_ff97, 0xab94_23a7, 0xfc93_a039], [0x655b_59c3, 0x8f0c_cc92, 0xffef_f47d, 0x8584_5dd1],
        [0x6fa8_7e4f, 0xfe2c_e6e0, 0xa301_4314, 0x4e08_11a1], [0xf753_7e82, 0xbd3a_f235, 0x2ad7_d2bb, 0xeb86_d391],
    ],
];

/// Blocks of a text with its padding: a byte to mark the end, and the length in 8 bytes.
pub(super) const fn blocks(text: &[u8]) -> usize {
    (text.len() + 8) / 64 + 1
}

/// One lane: the text in it, and how far it is.
#[derive(Clone, Copy)]
struct Lane<'a> {
    /// Which of the texts it is.
    text: usize,
    /// Its whole blocks.
    body: &'a [Block],
    /// Its last bytes and the padding: one block or two.
    tail: [Block; 2],
    done: usize,
    /// Blocks to do; 0 in a lane without a text.
    left: usize,
}

impl<'a> Lane<'a> {
    const IDLE: Self = Self { text: 0, body: &[], tail: [[0; 64]; 2], done: 0, left: 0 };

    fn start(&mut self, index: usize, text: &'a [u8]) {
        let (body, rest) = text.as_chunks();
        self.text = index;
        self.body = body;
        self.done = 0;
        self.left = blocks(text);
        self.tail = [[0; 64]; 2];
        if let Some((to, padding)) = self.tail.as_flattened_mut().split_at_mut_checked(rest.len()) {
            to.copy_from_slice(rest);
            if let Some(mark) = padding.first_mut() {
                *mark = 0x80;
            }
        }
        let end = self.tail.get_mut(self.left - body.len() - 1);
        if let Some((_, length)) = end.and_then(|block| block.split_last_chunk_mut()) {
            // The length is that in bits, modulo 2^64.
            *length = (text.len() as u64).wrapping_mul(8).to_le_bytes();
        }
    }

    /// The block `ahead` of the next one; any, where the text has ended.
    #[inline(always)]
    fn block(&self, ahead: usize) -> &Block {
        let at = self.done + ahead;
        match self.body.get(at) {
            Some(block) => block,
            None => self.tail.get(at.wrapping_sub(self.body.len())).unwrap_or(&[0; 64]),
        }
    }
}

/// Fills `out`, which is empty, with the MD5 of each of `texts`: `G` vectors of `N` lanes at a time.
#[inline(always)]
pub(super) fn run<'a, V: Vector<N>, const N: usize, const G: usize>(texts: &[&'a [u8]], out: &mut Vec<[u8; 16]>) {
    out.resize(texts.len(), [0; 16]);
    let mut queue = longest_first(texts).into_iter();
    let mut next = |lane: &mut Lane<'a>| match queue.next() {
        Some(index) => lane.start(index, texts.get(index).copied().unwrap_or_default()),
        None => *lane = Lane::IDLE,
    };
    let mut lanes = [[Lane::IDLE; N]; G];
    let mut words = START.map(|word| [[word; N]; G]);
    lanes.as_flattened_mut().iter_mut().for_each(&mut next);
    while let Some(blocks) = lanes.as_flattened().iter().map(|lane| lane.left).filter(|left| *left > 0).min() {
        advance::<V, N, G>(&mut words, &lanes, blocks);
        for (at, lane) in lanes.as_flattened_mut().iter_mut().enumerate() {
            lane.done += blocks;
            if lane.left == blocks {
                if let Some(digest) = out.get_mut(lane.text) {
                    *digest = take(&mut words, at);
                }
                next(lane);
            } else {
                lane.left = lane.left.saturating_sub(blocks);
            }
        }
    }
}

/// Adds the next `blocks` blocks of each lane to the state.
#[inline(always)]
fn advance<V: Vector<N>, const N: usize, const G: usize>(
    words: &mut [[[u32; N]; G]; 4],
    lanes: &[[Lane<'_>; N]; G],
    blocks: usize,
) {
    let mut state = [[V::splat(0); G]; 4];
    for (to, from) in state.as_flattened_mut().iter_mut().zip(words.as_flattened()) {
        *to = V::pack(*from);
    }
    for ahead in 0..blocks {
        let mut loaded = [[V::splat(0); 16]; G];
        for (to, group) in loaded.iter_mut().zip(lanes) {
            let mut rows = [&[0; 64]; N];
            for (row, lane) in rows.iter_mut().zip(group) {
                *row = lane.block(ahead);
            }
            *to = V::load(rows);
        }
        compress(&mut state, &loaded);
    }
    for (to, from) in words.as_flattened_mut().iter_mut().zip(state.as_flattened()) {
        *to = from.unpack();
    }
}

/// The digest in a lane, whose state becomes that of a new text.
#[inline(always)]
fn take<const N: usize, const G: usize>(words: &mut [[[u32; N]; G]; 4], lane: usize) -> [u8; 16] {
    let mut digest = [0; 16];
    for ((to, word), start) in digest.as_chunks_mut().0.iter_mut().zip(words).zip(START) {
        if let Some(word) = word.as_flattened_mut().get_mut(lane) {
            *to = std::mem::replace(word, start).to_le_bytes();
        }
    }
    digest
}

/// The numbers of the texts, those with the most blocks first.
///
/// Counted and not compared, where texts are short: most are, and sorting them was a fifth of the time.
#[expect(
    clippy::indexing_slicing,
    reason = "a class is below the length of `places`, and a place below the number of texts"
)]
fn longest_first(texts: &[&[u8]]) -> Vec<usize> {
    const LONG: usize = 127;
    let class = |text: &[u8]| LONG - blocks(text).min(LONG);
    let mut places = [0; LONG + 1];
    for text in texts {
        places[class(text)] += 1;
    }
    let mut before = 0;
    for place in &mut places {
        before += std::mem::replace(place, before);
    }
    let mut order = vec![0; texts.len()];
    for (index, text) in texts.iter().enumerate() {
        let place = &mut places[class(text)];
        order[*place] = index;
        *place += 1;
    }
    // Texts of the first class are those of `LONG` blocks and more, in no order yet.
    order[..places[0]].sort_unstable_by_key(|index| Reverse(texts[*index].len()));
    order
}

/// Adds a block in each lane to the state.
#[inline(always)]
fn compress<V: Vector<N>, const N: usize, const G: usize>(state: &mut [[V; G]; 4], words: &[[V; 16]; G]) {
    let mut s = *state;
    let [first, second, third, fourth] = &SINES;
    round::<V, N, G, 7, 12, 17, 22>(&mut s, words, first, |i| i, V::choose);
    round::<V, N, G, 5, 9, 14, 20>(&mut s, words, second, |i| 5 * i + 1, |b, c, d| d.choose(b, c));
    round::<V, N, G, 4, 11, 16, 23>(&mut s, words, third, |i| 3 * i + 5, V::parity);
    round::<V, N, G, 6, 10, 15, 21>(&mut s, words, fourth, |i| 7 * i, |b, c, d| c.last(b, d));
    for (sum, word) in state.as_flattened_mut().iter_mut().zip(s.as_flattened()) {
        *sum = sum.plus(*word);
    }
}

/// Sixteen steps; `word` says which word of the block a step takes.
#[inline(always)]
fn round<V: Vector<N>, const N: usize, const G: usize, const R0: u32, const R1: u32, const R2: u32, const R3: u32>(
    state: &mut [[V; G]; 4],
    words: &[[V; 16]; G],
    sines: &[[u32; 4]; 4],
    word: impl Fn(usize) -> usize,
    mix: impl Fn(V, V, V) -> V + Copy,
) {
    let [mut a, mut b, mut c, mut d] = *state;
    for (i, sines) in sines.iter().enumerate() {
        a = step::<V, N, G, R0>([a, b, c, d], words, word(4 * i), sines[0], mix);
        d = step::<V, N, G, R1>([d, a, b, c], words, word(4 * i + 1), sines[1], mix);
        c = step::<V, N, G, R2>([c, d, a, b], words, word(4 * i + 2), sines[2], mix);
        b = step::<V, N, G, R3>([b, c, d, a], words, word(4 * i + 3), sines[3], mix);
    }
    *state = [a, b, c, d];
}

#[inline(always)]
#[expect(
    clippy::indexing_slicing,
    reason = "both bounds are constants of the types, and the compiler drops the checks"
)]
fn step<V: Vector<N>, const N: usize, const G: usize, const LEFT: u32>(
    [a, b, c, d]: [[V; G]; 4],
    words: &[[V; 16]; G],
    word: usize,
    sine: u32,
    mix: impl Fn(V, V, V) -> V,
) -> [V; G] {
    // The sum of what is known early comes first: only `mix` waits for the step before.
    let mut sum = a;
    for g in 0..G {
        let early = a[g].plus(words[g][word % 16]).plus(V::splat(sine));
        sum[g] = early.plus(mix(b[g], c[g], d[g])).rotate::<LEFT>().plus(b[g]);
    }
    sum
}
