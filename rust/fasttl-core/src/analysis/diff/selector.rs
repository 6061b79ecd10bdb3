//! How a person names what is compared: a rank, a start of it, a process, a compile.

use crate::error::{Error, ErrorKind, Result};
use crate::format::compile_id::CompileId;

/// Which logs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Who {
    /// All.
    #[default]
    All,
    /// Those of a rank, or those without one; of several starts the one that is named.
    Rank {
        /// The rank.
        rank: Option<i32>,
        /// Which start, from 0: the n-th log of the rank by time.
        start: Option<u32>,
    },
    /// Those of a process.
    Process(u64),
}

/// What of a trace is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    /// Which logs.
    pub who: Who,
    /// Which compile of them: the generation where it is named, and the id without attempt.
    pub compile: Option<(Option<u32>, CompileId)>,
}

impl Selector {
    /// Reads the text of a selection: `r2` (a rank), `rnone` (logs without one), `r2.a1` (its second start), `p4711` (a
    /// process), `0/1` (a compile), `0/1@1` (of the second generation), `r2/0/1` (a compile of a rank). Without a text
    /// it is all.
    ///
    /// # Errors
    /// Another text.
    ///
    /// ```
    /// use fasttl_core::analysis::diff::{Selector, Who};
    ///
    /// let it = Selector::parse("r2/0/1@1").unwrap();
    /// assert_eq!(it.who, Who::Rank { rank: Some(2), start: None });
    /// assert_eq!(it.compile.unwrap().1.to_string(), "0/1");
    /// ```
    pub fn parse(text: &str) -> Result<Self> {
        read(text.trim()).ok_or_else(|| {
            let text = format!(
                "not a selection: {text:?}; write for example r2 (a rank), 0/1 (a compile), r2/0/1, or 0/1@1 (after a reset)"
            );
            Error::new(ErrorKind::Option, text)
        })
    }
}

fn read(text: &str) -> Option<Selector> {
    if text.is_empty() {
        return Some(Selector::default());
    }
    let (who, compile) = if text.starts_with(['r', 'p']) {
        let (who, compile) = text.split_once('/').map_or((text, None), |(who, compile)| (who, Some(compile)));
        (read_who(who)?, compile)
    } else {
        (Who::All, Some(text))
    };
    Some(Selector { who, compile: compile.map_or(Some(None), |text| read_compile(text).map(Some))? })
}

fn read_who(text: &str) -> Option<Who> {
    if let Some(process) = text.strip_prefix('p') {
        return number(process).map(Who::Process);
    }
    let text = text.strip_prefix('r')?;
    let (rank, start) = match text.split_once(".a") {
        Some((rank, start)) => (rank, Some(number(start)?)),
        None => (text, None),
    };
    let rank = if rank == "none" { None } else { Some(number(rank)?) };
    Some(Who::Rank { rank, start })
}

fn read_compile(text: &str) -> Option<(Option<u32>, CompileId)> {
    let (id, generation) = match text.split_once('@') {
        Some((id, generation)) => (id, Some(number(generation)?)),
        None => (text, None),
    };
    let id = CompileId::parse(id)?.without_attempt();
    id.frame_compile_id.is_some().then_some((generation, id))
}

/// Digits only: no sign, no blank.
fn number<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.parse().ok().filter(|_| text.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forms_are_read() {
        let of = |text: &str| Selector::parse(text).unwrap();
        assert_eq!(of(""), Selector::default());
        assert_eq!(of("rnone").who, Who::Rank { rank: None, start: None });
        assert_eq!(of("r12.a1").who, Who::Rank { rank: Some(12), start: Some(1) });
        assert_eq!(of("p23646/0/1").who, Who::Process(23646));
        let compile = |text: &str| of(text).compile.map(|(generation, id)| (generation, id.to_string()));
        assert_eq!(compile("0/1"), Some((None, "0/1".to_owned())));
        assert_eq!(compile("0/1_3@2"), Some((Some(2), "0/1".to_owned())));
        assert_eq!(compile("r0/!0/1/0"), Some((None, "!0/1/0".to_owned())));
        assert_eq!(compile("r0"), None);
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["r", "rx", "r-1", "r+1", "p", "0", "!0", "x/0/1", "r0/", "0/1@", "0/1@x", "r1.ax", "r99999999999"]
        {
            assert!(Selector::parse(text).is_err(), "{text:?}");
        }
    }
}
