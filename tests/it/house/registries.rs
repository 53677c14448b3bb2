//! Names in the pages match those of the registries: none is missing, and none is unknown.

use std::collections::BTreeSet;

use fairshared::cli::import::FORMATS;
use fairshared::cli::import::accounts::TREE_FORMATS;
use fairshared::cli::{COMMANDS, CommandEntry};
use fairshared::config::{CONFIG_VARIABLE, SETTINGS, Setting};
use fairshared::domain::decay::RegisteredDecay;
use fairshared::domain::division::algorithm_names;
use fairshared::domain::metadata::RuleFacts;
use fairshared::domain::reclaim::plugins::plugin_names;
use fairshared::domain::sequencer::Sequencer;
use fairshared::jobs;

use super::files::root;

const COMMAND_LIST: &str = include_str!("../../../docs/COMMANDS.md");
const README: &str = include_str!("../../../README.md");
const OPERATIONS: &str = include_str!("../../../docs/OPERATIONS.md");
const IMPORTS: &str = include_str!("../../../docs/IMPORTS.md");
const FAIR_SHARE: &str = include_str!("../../../docs/FAIR_SHARE.md");
const DIVISION: &str = include_str!("../../../docs/DIVISION.md");
const INTEGRATION: &str = include_str!("../../../docs/INTEGRATION.md");
const ARCHITECTURE: &str = include_str!("../../../docs/ARCHITECTURE.md");
const API: &str = include_str!("../../../docs/API.md");

/// The text between two marks of a page.
fn between<'p>(page: &'p str, start: &str, end: &str) -> &'p str {
    let (_, rest) = page.split_once(start).unwrap_or_else(|| panic!("the page lacks {start:?}"));
    rest.split_once(end).unwrap_or_else(|| panic!("the page lacks {end:?} behind {start:?}")).0
}

/// The names in backticks.
fn quoted(text: &str) -> BTreeSet<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// The names in backticks in the first cells of the first table.
fn first_cells(text: &str) -> BTreeSet<&str> {
    let table = text.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    table.filter_map(|row| row.split('|').nth(1)).flat_map(quoted).collect()
}

/// The names that follow each `mark`.
fn behind<'p>(pages: &[&'p str], mark: &str) -> BTreeSet<&'p str> {
    let name = |rest: &'p str| {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-').unwrap_or(rest.len());
        &rest[..end]
    };
    pages.iter().flat_map(|page| page.split(mark).skip(1).map(name)).filter(|name| !name.is_empty()).collect()
}

#[test]
fn sequencers() {
    let known: BTreeSet<_> = Sequencer::names().collect();
    assert_eq!(quoted(between(FAIR_SHARE, "with a `scheduler`\n  (", ")")), known);
    assert_eq!(first_cells(between(FAIR_SHARE, "## 9.", "## Corrections")), known);
}

#[test]
fn kinds_of_decay() {
    let row = FAIR_SHARE.lines().find(|line| line.starts_with("| `decay` |")).unwrap();
    assert_eq!(
        quoted(row.rsplit('|').nth(1).unwrap()),
        RegisteredDecay::choices().iter().map(|decay| decay.name).collect()
    );
}

#[test]
fn options_of_groups() {
    let table = between(FAIR_SHARE, "## 8. Options", "A PATCH merges");
    let options = RuleFacts::collect().options;
    assert_eq!(first_cells(table), options.iter().map(|option| option.key).collect());
    for option in options.iter().filter(|option| option.kind == "integer") {
        let row = table.lines().find(|line| line.starts_with(&format!("| `{}` |", option.key))).unwrap();
        let ends = option.minimum.as_ref().zip(option.maximum.as_ref()).unwrap();
        assert!(row.contains(&format!("| {} to {}", ends.0, ends.1)), "{row}");
    }
}

#[test]
fn division_algorithms() {
    let sections = between(DIVISION, "\n## 1. ", "\n## 5. ").lines();
    let headings = sections.filter(|line| line.starts_with("## "));
    assert_eq!(headings.flat_map(quoted).collect::<BTreeSet<_>>(), algorithm_names().collect());
}

#[test]
fn reclaim_plug_ins() {
    assert_eq!(quoted(between(DIVISION, "each of", "registers")), plugin_names().collect());
}

#[test]
fn jobs_of_the_runner() {
    let known = jobs::described_jobs().into_iter().map(|(name, _)| name);
    assert_eq!(first_cells(between(OPERATIONS, "## Jobs", "\n## ")), known.collect());
}

#[test]
fn import_formats() {
    let known: BTreeSet<_> = FORMATS.iter().map(|format| format.name).collect();
    assert_eq!(first_cells(IMPORTS), known);
    let listed = between(INTEGRATION, "fairshared import ", " FILE");
    assert_eq!(listed.split('|').collect::<BTreeSet<_>>(), known);
    let of_trees = TREE_FORMATS.iter().map(|format| format.name).collect();
    assert_eq!(first_cells(between(IMPORTS, "## Trees of accounts", "\n## ")), of_trees);
}

#[test]
fn commands() {
    let names: Vec<String> = COMMANDS.iter().map(CommandEntry::name).collect();
    let known: BTreeSet<&str> = names.iter().map(String::as_str).collect();
    let listed: BTreeSet<_> = commands_in(COMMAND_LIST);
    assert_eq!(
        known.difference(&listed).collect::<Vec<_>>(),
        Vec::<&&str>::new(),
        "commands that COMMANDS.md does not list"
    );
    let pages = [COMMAND_LIST, README, OPERATIONS, IMPORTS, FAIR_SHARE, DIVISION, INTEGRATION, API];
    let told: BTreeSet<_> = pages.iter().flat_map(|page| commands_in(page)).collect();
    assert_eq!(told.difference(&known).collect::<Vec<_>>(), Vec::<&&str>::new(), "no such commands");
}

/// The commands of a page: `fairshared NAME` in backticks, at the beginning of a line, or after a pipe in a block.
fn commands_in(page: &str) -> BTreeSet<&str> {
    let starts = ["`fairshared ", "\nfairshared ", "| fairshared ", "cargo run -- "];
    starts.iter().flat_map(|start| behind(&[page], start)).filter(|name| !name.starts_with('-')).collect()
}

#[test]
fn settings() {
    let known: BTreeSet<_> = SETTINGS.iter().map(Setting::variable).chain([CONFIG_VARIABLE.to_owned()]).collect();
    let told = behind(&[README, COMMAND_LIST, OPERATIONS, INTEGRATION, API], "FAIRSHARED_");
    // Examples of what Kubernetes injects.
    let foreign = ["SERVICE_HOST", "PORT_8080_TCP"];
    for name in told.into_iter().filter(|name| !foreign.contains(name)) {
        assert!(known.contains(&format!("FAIRSHARED_{name}")), "no setting FAIRSHARED_{name}");
    }
}

#[test]
fn every_file_that_the_architecture_names_is_there() {
    let root = root();
    // A pattern such as `<resource>/<verb>.rs` names no single file.
    let is_source =
        |name: &&str| !name.contains('<') && std::path::Path::new(name).extension().is_some_and(|kind| kind == "rs");
    for name in quoted(ARCHITECTURE).into_iter().filter(is_source) {
        assert!(root.join("src").join(name).exists() || root.join(name).exists(), "there is no file {name}");
    }
}

#[test]
fn every_page_links_the_glossary() {
    let folder = root().join("docs");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "md") && !path.ends_with("GLOSSARY.md") {
            let page = std::fs::read_to_string(&path).unwrap();
            assert!(page.contains("(GLOSSARY.md)"), "{} does not link the glossary", path.display());
        }
    }
    assert!(README.contains("(docs/GLOSSARY.md)"), "README.md does not link the glossary");
}
