//! The names of statuses in schedulers.

use std::collections::BTreeMap;

use domain::kernel::Phase;
use domain::status::{WORDS, Words};

fn all(words: &Words) -> impl Iterator<Item = &'static str> {
    [words.backend_ai, words.kubernetes, words.slurm].into_iter().flatten().copied()
}

#[test]
fn every_word_means_one_phase_in_either_case() {
    let mut known = BTreeMap::new();
    for words in &WORDS {
        for word in all(words) {
            assert_eq!(*known.entry(word).or_insert(words.phase), words.phase, "{word}");
            for text in [word.to_owned(), word.to_lowercase(), format!("{}{}", &word[..1], word[1..].to_lowercase())] {
                assert_eq!(Phase::parse(&text), Some(words.phase), "{text}");
            }
        }
    }
    for phase in [Phase::Pending, Phase::Running, Phase::Suspended, Phase::Terminated] {
        assert_eq!(Phase::parse(phase.as_str()), Some(phase));
    }
    for word in ["", "DANCING", "RUN", "PENDING ", "X"] {
        assert_eq!(Phase::parse(word), None, "{word:?}");
    }
}

#[test]
fn the_guide_shows_the_table() {
    let guide = include_str!("../../../docs/INTEGRATION.md");
    let list = |words: &[&str]| words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    for words in &WORDS {
        let cells = [words.backend_ai, words.kubernetes, words.slurm].map(list);
        let row = format!("| `{}` | {} |", words.phase.as_str(), cells.join(" | "));
        assert!(guide.contains(&row), "docs/INTEGRATION.md lacks\n{row}");
    }
}
