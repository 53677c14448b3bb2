//! The names of statuses in schedulers.

use std::collections::BTreeMap;

use domain::kernel::KernelPhase;
use domain::status::{PHASE_WORDS, PhaseWords};

fn all(words: &PhaseWords) -> impl Iterator<Item = &'static str> {
    [words.backend_ai, words.kubernetes, words.slurm, words.htcondor].into_iter().flatten().copied()
}

#[test]
fn every_word_means_one_phase_in_either_case() {
    let mut known = BTreeMap::new();
    for words in &PHASE_WORDS {
        for word in all(words) {
            assert_eq!(*known.entry(word).or_insert(words.phase), words.phase, "{word}");
            for text in [word.to_owned(), word.to_lowercase(), format!("{}{}", &word[..1], word[1..].to_lowercase())] {
                assert_eq!(KernelPhase::parse(&text), Some(words.phase), "{text}");
            }
        }
    }
    for phase in [KernelPhase::Pending, KernelPhase::Running, KernelPhase::Suspended, KernelPhase::Terminated] {
        assert_eq!(KernelPhase::parse(phase.as_str()), Some(phase));
    }
    for word in ["", "DANCING", "RUN", "PENDING ", "Z"] {
        assert_eq!(KernelPhase::parse(word), None, "{word:?}");
    }
}

#[test]
fn the_guide_shows_the_table() {
    let guide = include_str!("../../../docs/INTEGRATION.md");
    let list = |words: &[&str]| words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    for words in &PHASE_WORDS {
        let cells = [words.backend_ai, words.kubernetes, words.slurm, words.htcondor].map(list);
        let row = format!("| `{}` | {} |", words.phase.as_str(), cells.join(" | "));
        assert!(guide.contains(&row), "docs/INTEGRATION.md lacks\n{row}");
    }
}
