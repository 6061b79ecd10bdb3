//! Every width of lanes against the MD5 of the crate `md-5`, one text after another.

use proptest::prelude::*;

use super::{Lanes, md5_many, md5_many_with};
use crate::format::payload::{md5, md5_hex};

/// All ways to hash `texts` give what hashing them one by one gives.
fn check(texts: &[&[u8]]) {
    let wanted: Vec<_> = texts.iter().map(|text| md5(text)).collect();
    let mut out = vec![[7; 16]; 3];
    md5_many(texts, &mut out);
    assert!(out == wanted, "picked by the texts");
    for lanes in Lanes::available() {
        md5_many_with(lanes, texts, &mut out);
        let wrong = out.iter().zip(&wanted).position(|(out, wanted)| out != wanted);
        assert_eq!((out.len(), wrong), (wanted.len(), None), "{lanes:?}");
    }
}

/// Bytes without a pattern, the same in every run.
fn noise(len: usize) -> Vec<u8> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    std::iter::repeat_with(|| next(&mut state)).flat_map(u64::to_le_bytes).take(len).collect()
}

fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Below `end`.
fn below(state: &mut u64, end: usize) -> usize {
    usize::try_from(next(state) >> 33).unwrap() % end
}

#[test]
fn the_vectors_of_the_rfc() {
    let digits = "1234567890".repeat(8);
    let vectors = [
        ("", "d41d8cd98f00b204e9800998ecf8427e"),
        ("a", "0cc175b9c0f1b6a831c399e269772661"),
        ("abc", "900150983cd24fb0d6963f7d28e17f72"),
        ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
        ("abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"),
        ("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", "d174ab98d277d9f5a5611c2c9f419d9f"),
        (&digits, "57edf4a22be3c955ac49da2e2107b67a"),
    ];
    let texts = vectors.map(|(text, _)| text.as_bytes());
    for lanes in Lanes::available() {
        let mut out = Vec::new();
        md5_many_with(lanes, &texts, &mut out);
        let hex: Vec<_> = out.into_iter().map(md5_hex).collect();
        assert_eq!(hex, vectors.map(|(_, hex)| hex), "{lanes:?}");
    }
}

#[test]
fn each_length_around_the_end_of_a_block_in_each_place() {
    let bytes = noise(400);
    // Alone, among others of its length, and among others of other lengths.
    for len in (0..=130).chain(180..=195).chain(245..=260) {
        check(&[&bytes[..len]]);
        let same: Vec<_> = (0..33).map(|from| &bytes[from..from + len]).collect();
        check(&same);
        let other: Vec<_> = (0..33).map(|less: usize| &bytes[..len.saturating_sub(less)]).collect();
        check(&other);
    }
}

#[test]
fn any_number_of_texts() {
    let bytes = noise(1000);
    check(&[]);
    for count in 1..=100 {
        let texts: Vec<_> = (0..count).map(|i| &bytes[i..i + i * 37 % 900]).collect();
        check(&texts);
    }
}

#[test]
fn few_long_texts_among_short_ones() {
    let bytes = noise(1 << 20);
    check(&[&bytes]);
    check(&[&bytes, &bytes[1..], &bytes[..99]]);
    let mut texts: Vec<_> = (0..500).map(|i| &bytes[i * 300..i * 300 + 200 + i]).collect();
    texts.insert(250, &bytes);
    texts.push(&bytes[..70_000]);
    texts.extend((0..20).map(|i| &bytes[i..8000 + i * 20]));
    check(&texts);
}

#[test]
fn the_widest_lanes_are_the_best_and_missing_ones_do_no_harm() {
    let counts: Vec<_> = Lanes::available().map(Lanes::count).collect();
    assert!(counts.is_sorted());
    assert_eq!(Some(&Lanes::best().count()), counts.last());
    let mut out = Vec::new();
    for lanes in Lanes::ALL {
        md5_many_with(lanes, &[b"a", b"b"], &mut out);
        assert_eq!(out, [md5(b"a"), md5(b"b")], "{lanes:?}");
    }
}

proptest! {
    #[test]
    fn random_texts(texts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..400), 0..80)) {
        check(&texts.iter().map(Vec::as_slice).collect::<Vec<_>>());
    }

    #[test]
    fn random_lengths(lengths in prop::collection::vec(prop_oneof![0_usize..300, 0_usize..20_000], 0..200)) {
        let bytes = noise(20_000);
        check(&lengths.iter().map(|len| &bytes[..*len]).collect::<Vec<_>>());
    }
}

#[test]
#[ignore = "slow: `make test-slow`"]
fn a_million_random_texts() {
    let bytes = noise(1 << 20);
    let mut state = 1;
    for _ in 0..500 {
        let texts: Vec<_> = (0..2000)
            .map(|_| {
                // Most are short, some are not.
                let end = if below(&mut state, 500) == 0 { 20_000 } else { 400 };
                let (from, len) = (below(&mut state, bytes.len() - end), below(&mut state, end));
                &bytes[from..from + len]
            })
            .collect();
        check(&texts);
    }
}
