//! Whole tasks on the web pages in a real browser: the tests of `ui/e2e`, which need Node.js.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::chromium;
use crate::support::packages::{self, Installation};
use crate::support::process_end::{not_run, scratch_folder};
use crate::support::tell;

/// The folder with the sources of the web pages.
fn pages_folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("ui")
}

fn npm(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new("npm");
    command.args(args).current_dir(folder).stdin(Stdio::null());
    command
}

const PAGES: &str = "the tests of the web pages in ui/e2e";

/// The first version of Node.js that the tests run on.
const NODE: u32 = 20;

/// The version of Node.js that is here.
fn node() -> Option<u32> {
    let output = Command::new("node").arg("--version").output().ok()?;
    String::from_utf8(output.stdout).ok()?.trim().strip_prefix('v')?.split('.').next()?.parse().ok()
}

#[test]
fn whole_tasks_in_a_browser() {
    let folder = pages_folder();
    let found = match (node(), npm(&folder, &["--version"]).output()) {
        (Some(NODE..), Ok(output)) if output.status.success() => None,
        (Some(old @ ..NODE), _) => Some(format!("Node.js {old} is here")),
        (None, _) => Some("there is no Node.js here".to_owned()),
        _ => Some("there is no npm here".to_owned()),
    };
    if let Some(found) = found {
        return not_run(PAGES, &format!("{found}; they need Node.js {NODE} or later and npm"));
    }
    match packages::install_node_packages(&folder, &[]) {
        Installation::Complete => run(&folder, "e2e"),
        Installation::OutOfReach(reason) => not_run(PAGES, &reason),
        Installation::Failed(text) => panic!("{text}"),
    }
}

#[test]
#[ignore = "long"]
fn a_tab_that_is_left_open_does_not_grow() {
    run(&pages_folder(), "memory");
}

/// The test on every change sees each theme in one size.
#[test]
#[ignore = "long"]
fn long_every_page_is_well_in_both_themes_and_sizes() {
    run(&pages_folder(), "looks");
}

/// Runs a script of `ui/package.json` against this program, and reports its measurements.
fn run(folder: &Path, script: &str) {
    let ran = npm(folder, &["run", script])
        .env("FAIRSHARED_PROGRAM", env!("CARGO_BIN_EXE_fairshared"))
        .env("CHROMIUM", chromium())
        .env("NO_COLOR", "1")
        .env("TMPDIR", scratch_folder())
        .output()
        .unwrap();
    let told = [ran.stdout, ran.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    let failures: Vec<&str> = told.lines().filter(|line| line.starts_with("failed: ")).collect();
    assert!(ran.status.success(), "{told}\n{}", failures.join("\n"));
    for line in told.lines().filter(|line| line.starts_with("figure: ")) {
        tell(line);
    }
}
