//! Rules for comments and messages: each file begins with its purpose, each cited section has its page, and sentences name
//! their subject.

use super::files::{root, sources};

/// Words that leave open whether a user, a client, a job or an administrator is meant.
const NAMELESS: [&str; 3] = ["nobody", "somebody", "whoever"];

/// True if the first line begins a comment on the whole file.
fn says_what_it_holds(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    first.strip_prefix("//! ").is_some_and(|said| !said.trim().is_empty())
}

/// True if the text before a `§` ends with the name of a page. Sections in a row share one: `FAIR_SHARE §6, §7`.
fn names_a_page(before: &str) -> bool {
    let Some(before) = before.strip_suffix(' ') else { return false };
    for link in [",", " to", " and"] {
        if let Some(earlier) = before.strip_suffix(link) {
            let number = earlier.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
            return number.strip_suffix('§').is_some_and(names_a_page);
        }
    }
    let name = before.rsplit(|c: char| !c.is_ascii_uppercase() && c != '_').next().unwrap_or_default();
    !name.is_empty() && root().join("docs").join(format!("{name}.md")).is_file()
}

/// The lines that cite a section without its page, by their numbers.
fn sections_without_page(text: &str) -> Vec<usize> {
    let lines = text.lines().zip(1..);
    let bad = lines.filter(|(line, _)| line.match_indices('§').any(|(at, _)| !names_a_page(&line[..at])));
    bad.map(|(_, number)| number).collect()
}

/// The numbers of the lines with a word that names no subject. Code has none of these words either, so comments and literals
/// need not be separated from it.
fn lines_without_subject(text: &str) -> Vec<usize> {
    let is_nameless = |word: &str| NAMELESS.iter().any(|nameless| word.eq_ignore_ascii_case(nameless));
    let has_one = |line: &str| line.split(|c: char| !c.is_alphanumeric() && c != '_').any(is_nameless);
    let bad = text.lines().zip(1..).filter(|(line, _)| has_one(line));
    bad.map(|(_, number)| number).collect()
}

#[test]
fn every_file_says_what_it_holds() {
    let silent: Vec<String> = sources().filter(|(_, text)| !says_what_it_holds(text)).map(|(name, _)| name).collect();
    assert!(silent.is_empty(), "files whose first line is not a sentence behind `//!`:\n{}", silent.join("\n"));
}

#[test]
fn every_section_has_its_page() {
    let cited = sources().flat_map(|(name, text)| {
        let lines = sections_without_page(&text);
        lines.into_iter().map(move |line| format!("{name}:{line}"))
    });
    let bad: Vec<String> = cited.collect();
    assert!(bad.is_empty(), "a `§` without the name of its page before it:\n{}", bad.join("\n"));
}

#[test]
fn every_sentence_names_its_subject() {
    let nameless = sources().flat_map(|(name, text)| {
        let lines = lines_without_subject(&text);
        lines.into_iter().map(move |line| format!("{name}:{line}"))
    });
    let bad: Vec<String> = nameless.collect();
    assert!(bad.is_empty(), "one of {NAMELESS:?} in place of a user, a client, a job, …:\n{}", bad.join("\n"));
}

#[test]
fn files_that_say_nothing_are_found() {
    for text in
        ["", "\n//! Late.\n", "use std::fmt;\n", "// Not of the file.\n", "/// Of an item.\n", "//!\n//! Late.\n"]
    {
        assert!(!says_what_it_holds(text), "{text:?}");
    }
    assert!(says_what_it_holds("//! Figures.\n\n#![allow(unused)]\n"));
}

#[test]
fn planted_sections_without_page_are_found() {
    for text in [
        "/// By rank (§7).",
        "//! §7",
        "/// RANKS §7",
        "/// FAIR_SHARE §6 or §7",
        "/// DIVISION §6; §7",
        "// See §6, §7.",
    ] {
        assert_eq!(sections_without_page(text), [1], "{text}");
    }
    for text in
        ["/// (FAIR_SHARE §6, §7)", "//! `DIVISION §2.3 to §2.5`", "/// DIVISION §6 and §7; FAIR_SHARE §9", "/// None."]
    {
        assert_eq!(sections_without_page(text), [0; 0], "{text}");
    }
    assert_eq!(sections_without_page("/// FAIR_SHARE §6\n/// §7\n\n/// (§8)"), [2, 4]);
}

#[test]
fn planted_sentences_without_subject_are_found() {
    for text in [
        "//! Nobody waits.",
        "/// `None`: nobody.",
        "    // For WHOEVER asks.",
        "refused(\"removed by somebody else\")",
        "/* of somebody's jobs */",
    ] {
        assert_eq!(lines_without_subject(text), [1], "{text}");
    }
    for text in ["/// No user waits.", "// Every body of a request.", "fn nobody_waits() {}", ""] {
        assert_eq!(lines_without_subject(text), [0; 0], "{text}");
    }
    assert_eq!(lines_without_subject("/// Whoever\n/// asks\n\n\"nobody\""), [1, 4]);
}
