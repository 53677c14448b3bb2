//! The status of a kernel as a report gives it: a text or a list of texts, each with one word or several.
//!
//! Schedulers get new states with new releases, and a report that is refused is lost. So an unknown status is not an error:
//! it counts as [`KernelPhase::Unknown`], which neither starts nor ends a kernel, and the answer warns of it. A kernel that is not
//! known is left out then, because nothing says whether it waits, runs or has ended long ago.

use std::fmt;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::kernel::KernelPhase;
use super::reading::too_long;
use super::status::{WordMeaning, WordRank};

/// The largest number of words of a status. Slurm has fewer flags.
pub const MAX_STATUS_WORDS: usize = 32;
/// The largest number of characters of a status that a warning shows.
const MAX_SHOWN: usize = 64;

/// A status with the phase that it stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportedStatus {
    pub phase: KernelPhase,
    pub doubt: Option<StatusDoubt>,
}

/// The reason why a status, or a part of it, was left out.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StatusDoubt {
    /// No scheduler has the word.
    UnknownWord(String),
    /// No scheduler has the word, but a word beside it gives the phase.
    UnknownWordBeside(String),
    /// The words stand for several phases.
    Contradiction(String),
    /// The scheduler itself does not know the status.
    NothingSaid,
}

/// The words of a status that have the highest rank so far.
struct DecisiveWords {
    rank: WordRank,
    phase: KernelPhase,
    is_contradictory: bool,
}

impl ReportedStatus {
    /// The status in `texts`. Each text is one word, or words with commas between.
    fn read<E: Error>(texts: &[impl AsRef<str>]) -> Result<Self, E> {
        let words = || {
            texts.iter().flat_map(|text| text.as_ref().split(',')).map(str::trim_ascii).filter(|word| !word.is_empty())
        };
        if words().nth(MAX_STATUS_WORDS).is_some() {
            return Err(too_long(MAX_STATUS_WORDS));
        }
        let mut decisive: Option<DecisiveWords> = None;
        let mut unknown = None;
        for word in words() {
            let Some(WordMeaning { phase, rank }) = WordMeaning::of(word) else {
                unknown = unknown.or(Some(word));
                continue;
            };
            match &mut decisive {
                Some(known) if known.rank > rank => {}
                Some(known) if known.rank == rank => known.is_contradictory |= known.phase != phase,
                _ => decisive = Some(DecisiveWords { rank, phase, is_contradictory: false }),
            }
        }
        let unknown_status = |doubt| Self { phase: KernelPhase::Unknown, doubt: Some(doubt) };
        Ok(match (decisive, unknown) {
            (Some(words_of_rank), _) if words_of_rank.is_contradictory => {
                unknown_status(StatusDoubt::Contradiction(cut_off(&words().collect::<Vec<_>>().join(","))))
            }
            // A flag alone may be about another run, so it does not give the phase of a status with an unknown word.
            (Some(DecisiveWords { rank, phase, .. }), Some(word)) if rank > WordRank::Flag => {
                Self { phase, doubt: Some(StatusDoubt::UnknownWordBeside(cut_off(word))) }
            }
            (Some(DecisiveWords { phase: KernelPhase::Unknown, .. }), None) => unknown_status(StatusDoubt::NothingSaid),
            (Some(DecisiveWords { phase, .. }), None) => Self { phase, doubt: None },
            (_, word) => unknown_status(StatusDoubt::UnknownWord(cut_off(word.unwrap_or_default()))),
        })
    }
}

fn cut_off(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

impl fmt::Display for StatusDoubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let effect = "neither starts nor ends a kernel, and leaves out one that is not known";
        let consequence = format!("it is taken as UNKNOWN, which {effect}");
        match self {
            Self::UnknownWord(word) if !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit()) => write!(
                f,
                "the status {word:?} is a number, which schedulers use for different states: {consequence}; report the word"
            ),
            Self::UnknownWord(word) => write!(f, "the status {word:?} is not known: {consequence}"),
            Self::UnknownWordBeside(word) => {
                write!(f, "the word {word:?} of the status is not known, and is left out: the others give the status")
            }
            Self::Contradiction(words) => {
                write!(f, "the words of the status {words:?} contradict each other: {consequence}")
            }
            Self::NothingSaid => write!(f, "the scheduler does not know the status: such a report {effect}"),
        }
    }
}

impl<'de> Deserialize<'de> for ReportedStatus {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StatusVisitor)
    }
}

struct StatusVisitor;

impl<'de> Visitor<'de> for StatusVisitor {
    type Value = ReportedStatus;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a list of texts")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<ReportedStatus, E> {
        ReportedStatus::read(&[text])
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<ReportedStatus, A::Error> {
        let mut texts: Vec<String> = Vec::new();
        while let Some(text) = elements.next_element()? {
            if texts.len() == MAX_STATUS_WORDS {
                return Err(too_long(MAX_STATUS_WORDS));
            }
            texts.push(text);
        }
        ReportedStatus::read(&texts)
    }
}
