//! Whole tasks on the web pages in a real browser: the tests of `ui/e2e`, which need Node.js.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::browser::chromium;
use crate::support::tell;

fn npm(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new("npm");
    command.args(args).current_dir(folder).stdin(Stdio::null());
    command
}

#[test]
fn whole_tasks_in_a_browser() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("ui");
    let version = npm(&folder, &["--version"]).output();
    if !version.is_ok_and(|output| output.status.success()) {
        tell(
            "NOT RUN: the tests of the web pages in ui/e2e, because there is no npm here; they need Node.js 20 or later",
        );
        return;
    }
    if !folder.join("node_modules").exists() {
        let installed = npm(&folder, &["ci"]).output().unwrap();
        assert!(installed.status.success(), "{}", String::from_utf8_lossy(&installed.stderr));
    }
    run(&folder, "e2e");
}

#[test]
#[ignore = "long"]
fn a_tab_that_is_left_open_does_not_grow() {
    run(&PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("ui"), "memory");
}

/// Runs a script of `ui/package.json` against this program, and tells what it has measured.
fn run(folder: &Path, script: &str) {
    let ran = npm(folder, &["run", script])
        .env("FAIRSHARED_PROGRAM", env!("CARGO_BIN_EXE_fairshared"))
        .env("CHROMIUM", chromium())
        .env("NO_COLOR", "1")
        .output()
        .unwrap();
    let told = [ran.stdout, ran.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(ran.status.success(), "{told}");
    for line in told.lines().filter(|line| line.starts_with("figure: ")) {
        tell(line);
    }
}
