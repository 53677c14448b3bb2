//! The words of comments and pages: a comment begins with its subject, and words that have a plainer one are avoided.

use super::files::{files, root, sources};

/// Words with which a comment begins that does not name its subject.
const OPENINGS: [&str; 8] = ["What", "Who", "Whom", "Whose", "Whether", "Of", "Those", "So"];

/// Words for which there is a plainer one: "reported", "shown", "given" or "has"; the name of a user or a process; "again"; a
/// number.
const VAGUE: [&str; 10] =
    ["tell", "tells", "told", "telling", "whom", "whoever", "anew", "nobody", "somebody", "so many"];

/// The pages for users and contributors, by path.
fn pages() -> Vec<(String, String)> {
    let docs = root().join("docs");
    let paths =
        [docs.clone(), docs.join("decisions")].into_iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let paths = paths.map(|entry| entry.unwrap().path()).chain([root().join("README.md")]);
    let markdown = paths.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let read = |path: std::path::PathBuf| (path.display().to_string(), std::fs::read_to_string(&path).unwrap());
    let mut found: Vec<(String, String)> = markdown.map(read).collect();
    found.sort();
    found
}

/// The tests that plant words on purpose.
const PLANTING: [&str; 2] = ["house/words.rs", "house/comments.rs"];

/// All code: of the program, of its tests and benches, and of the web pages.
fn code() -> impl Iterator<Item = (String, String)> {
    let others = ["domain/tests", "tests/it", "benches", "ui/src", "ui/e2e"].into_iter().flat_map(|folder| {
        let found = files(folder, &["rs", "ts", "tsx"]).into_iter();
        found
            .filter(|(name, _)| !PLANTING.contains(&&**name))
            .map(move |(name, text)| (format!("{folder}/{name}"), text))
    });
    sources().chain(others)
}

/// The comment in a line, with its marks; `None` without one.
fn comment(line: &str) -> Option<&str> {
    let line = line.trim_start();
    if line.starts_with("//") {
        return Some(line);
    }
    line.find(" // ").map(|at| &line[at + 1..])
}

/// The numbers of the lines that begin a comment with one of [`OPENINGS`].
fn comments_without_subject(text: &str) -> Vec<usize> {
    let marks = |line: &str| line.len() - line.trim_start_matches(['/', '!']).len();
    let mut before = 0;
    let mut bad = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let Some(comment) = comment(line) else {
            before = 0;
            continue;
        };
        let begins = marks(comment) != before;
        before = marks(comment);
        let first = comment[before..].split_whitespace().next().unwrap_or_default();
        if begins && OPENINGS.contains(&first) {
            bad.push(number);
        }
    }
    bad
}

/// The words of [`VAGUE`] in a text. Code in backticks is left out.
fn vague_words(text: &str) -> Vec<&'static str> {
    let prose: String = text.split('`').step_by(2).collect::<Vec<_>>().join(" ").to_lowercase();
    let words: Vec<&str> = prose.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    let contains = |vague: &str| {
        let parts: Vec<&str> = vague.split(' ').collect();
        words.windows(parts.len()).any(|window| *window == *parts)
    };
    VAGUE.into_iter().filter(|vague| contains(vague)).collect()
}

#[test]
fn comments_begin_with_their_subject() {
    let bad = code().flat_map(|(name, text)| {
        let lines = comments_without_subject(&text);
        lines.into_iter().map(move |line| format!("{name}:{line}"))
    });
    let bad: Vec<String> = bad.collect();
    assert!(bad.is_empty(), "comments that begin with one of {OPENINGS:?}:\n{}", bad.join("\n"));
}

#[test]
fn comments_and_pages_have_plain_words() {
    let of_line = |name: &str, number: usize, line: &str| {
        let words = vague_words(line);
        (!words.is_empty()).then(|| format!("{name}:{number}: {words:?}"))
    };
    let mut bad: Vec<String> = Vec::new();
    for (name, text) in code() {
        let comments = text.lines().zip(1..).filter_map(|(line, number)| Some((comment(line)?, number)));
        bad.extend(comments.filter_map(|(line, number)| of_line(&name, number, line)));
    }
    for (name, text) in pages() {
        bad.extend(text.lines().zip(1..).filter_map(|(line, number)| of_line(&name, number, line)));
    }
    assert!(bad.is_empty(), "words with a plainer one:\n{}", bad.join("\n"));
}

#[test]
fn planted_comments_without_subject_are_found() {
    assert_eq!(
        comments_without_subject("/// What it is.\nstruct A; // Whose name.\n\n    //! Whether it is."),
        [1, 2, 4]
    );
    assert_eq!(
        comments_without_subject("/// The rest.\n/// What it is.\n/// Whatever.\n// Whatever\n//\n/// So it is."),
        [6]
    );
}

#[test]
fn planted_vague_words_are_found() {
    assert_eq!(vague_words("/// Clients are told, and Nobody waits for so\tmany."), ["told", "nobody", "so many"]);
    assert_eq!(vague_words("So many as there are, whom they tell."), ["tell", "whom", "so many"]);
    assert_eq!(vague_words("`told` of `whom`, foretold, teller"), [""; 0]);
}
