//! Unpacks compressed logs, within limits, to a file that no name points to.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use super::source::{Memory, Source};

/// How much may be unpacked unless the user says otherwise: in all, and as a multiple of the packed size.
const MAX_TOTAL: u64 = 64 << 30;
const MAX_RATIO: u64 = 200;
/// Small logs of few different bytes pack better than [`MAX_RATIO`] and harm nobody.
const RATIO_FROM: u64 = 16 << 20;

/// How a file is compressed, told from its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packing {
    /// gzip, one or more members.
    Gzip,
    /// Zstandard, one or more frames.
    Zstd,
}

impl Packing {
    /// The packing of data that starts with `head`.
    pub(super) fn of(head: &[u8]) -> Option<Self> {
        match head {
            [0x1F, 0x8B, 8, ..] => Some(Self::Gzip),
            // A frame of data, or one to skip that other tools put first.
            [0x28, 0xB5, 0x2F, 0xFD, ..] | [0x50..=0x5F, 0x2A, 0x4D, 0x18, ..] => Some(Self::Zstd),
            _ => None,
        }
    }

    /// A reader of the unpacked bytes of `file`.
    pub(super) fn reader(self, file: File) -> io::Result<Box<dyn Read>> {
        Ok(match self {
            Self::Gzip => Box::new(flate2::read::MultiGzDecoder::new(io::BufReader::new(file))),
            Self::Zstd => Box::new(zstd::Decoder::new(file)?),
        })
    }
}

/// What is left to unpack and to keep in memory for one call, shared by its threads.
#[derive(Debug)]
pub(super) struct Budget {
    left: AtomicU64,
    ratio: Option<u64>,
    /// Memory for copies.
    pub(super) memory: Memory,
}

impl Budget {
    /// The user's limit, or the default ones.
    pub(super) fn new(told: Option<u64>) -> Self {
        let (left, ratio) = told.map_or((MAX_TOTAL, Some(MAX_RATIO)), |bytes| (bytes, None));
        Self { left: AtomicU64::new(left), ratio, memory: Memory::default() }
    }

    /// Gives back what a log took that could not be unpacked after all.
    fn give_back(&self, bytes: u64) {
        self.left.fetch_add(bytes, Ordering::Relaxed);
    }

    fn take(&self, bytes: u64) -> bool {
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes)).is_ok()
    }
}

/// Why a log could not be unpacked.
pub(super) enum UnpackError {
    /// It would take more than allowed; the text says what to do.
    TooLarge(String),
    /// The file could not be read or the copy not be written.
    Io(io::Error),
}

/// Unpacks `path`. Data that is cut or broken is unpacked as far as it goes; the text says what is wrong.
pub(super) fn unpack(path: &Path, packing: Packing, budget: &Budget) -> Result<(Source, Option<String>), UnpackError> {
    let file = File::open(path).map_err(UnpackError::Io)?;
    let packed = file.metadata().map_err(UnpackError::Io)?.len();
    let reader = packing.reader(file).map_err(UnpackError::Io)?;
    let mut limited = Limited { reader, budget, packed, out: 0, taken: 0, stop: None };
    let source = Source::copy(&mut limited, &budget.memory).map_err(UnpackError::Io)?;
    match limited.stop {
        Some(Stop::TooLarge(text)) => {
            budget.give_back(limited.taken);
            Err(UnpackError::TooLarge(text))
        }
        Some(Stop::Damage(text)) => Ok((source, Some(text))),
        None => Ok((source, None)),
    }
}

enum Stop {
    TooLarge(String),
    Damage(String),
}

/// A reader that ends, and says why, at a limit or at broken data.
struct Limited<'b> {
    reader: Box<dyn Read>,
    budget: &'b Budget,
    packed: u64,
    out: u64,
    /// What it took of the budget.
    taken: u64,
    stop: Option<Stop>,
}

impl Read for Limited<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.stop.is_some() {
            return Ok(0);
        }
        match self.reader.read(buf) {
            Ok(len) => {
                self.out += len as u64;
                if self.budget.take(len as u64) {
                    self.taken += len as u64;
                } else {
                    let text = "unpacks to more than --max-unpacked allows; raise it if you trust the file";
                    self.stop = Some(Stop::TooLarge(text.to_owned()));
                }
                let ratio = self.out / self.packed.max(1);
                if self.out > RATIO_FROM && self.budget.ratio.is_some_and(|most| ratio > most) {
                    let text = format!(
                        "unpacks to more than {MAX_RATIO} times its size; say how much it may take with --max-unpacked if you trust it"
                    );
                    self.stop = Some(Stop::TooLarge(text));
                }
                Ok(len)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(error) => {
                self.stop = Some(Stop::Damage(format!("the compressed data ends or breaks here: {error}")));
                Ok(0)
            }
        }
    }
}
