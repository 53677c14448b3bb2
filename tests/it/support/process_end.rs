//! The end of the process of the tests: its servers stop, its folder for temporary files is removed, and the tests that were
//! not run are named, after the result.
//!
//! Values that a test owns remove what they have made when they are dropped, also after a panic. This module is for the rest:
//! nothing drops a static, and a program or a browser that is killed leaves files in the folder for temporary files. So such
//! programs get a folder of this process. What a process that was killed itself has left is removed by the next one.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use super::packages::is_root;
use super::postgres;

const PREFIX: &str = "fairshared-tests-";
/// How long programs that are about to end may go on writing into the folder.
const REMOVAL_SECONDS: u64 = 20;

static FOLDER: OnceLock<PathBuf> = OnceLock::new();
/// Tests that were not run, by the reason.
static NOT_RUN: Mutex<BTreeMap<String, BTreeSet<String>>> = Mutex::new(BTreeMap::new());

/// Notes that `tests` are not run, because of `reason`. Both are printed when the process ends.
pub fn not_run(tests: &str, reason: &str) {
    register();
    let mut noted = NOT_RUN.lock().unwrap_or_else(PoisonError::into_inner);
    noted.entry(reason.to_owned()).or_default().insert(tests.to_owned());
}

/// The name of the test that calls, where it has a thread of its own.
pub fn test_name() -> String {
    std::thread::current().name().filter(|name| *name != "main").unwrap_or("a test").to_owned()
}

/// The folder for what programs write that tests start and kill. It is removed when the process ends.
pub fn scratch_folder() -> &'static Path {
    FOLDER.get_or_init(|| {
        register();
        let parent = parent();
        remove_stale(&parent);
        let folder = parent.join(format!("{PREFIX}{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    })
}

/// The folder for temporary files. PostgreSQL refuses to run as root, so that tests of root need one that other users reach.
fn parent() -> PathBuf {
    let named = std::env::temp_dir();
    let is_reached = |folder: &Path| folder.metadata().is_ok_and(|found| found.permissions().mode() & 0o001 != 0);
    let path = named.canonicalize().unwrap_or_else(|_| named.clone());
    if !is_root() || path.ancestors().all(is_reached) { named } else { PathBuf::from("/tmp") }
}

/// Has [`at_exit`] called once, when the process ends.
#[allow(unsafe_code, reason = "the standard library has no hook for the end of a process")]
fn register() {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        // SAFETY: the function takes nothing, and lets no panic out.
        assert_eq!(unsafe { libc::atexit(at_exit) }, 0);
    });
}

extern "C" fn at_exit() {
    let _ = std::panic::catch_unwind(|| {
        postgres::stop_shared();
        if let Some(folder) = FOLDER.get() {
            remove(folder);
        }
        let _ = std::io::stdout().write_all(summary().as_bytes());
    });
}

fn summary() -> String {
    let noted = NOT_RUN.lock().unwrap_or_else(PoisonError::into_inner);
    let line = |(reason, tests): (&String, &BTreeSet<String>)| {
        let tests: Vec<&str> = tests.iter().map(String::as_str).collect();
        format!("NOT RUN, because {reason}: {}\n", tests.join(", "))
    };
    let mut lines: String = noted.iter().map(line).collect();
    // Without arguments everything is asked for, and the harness counts such tests as ignored without a reason.
    if std::env::args().len() == 1 && cfg!(test) {
        lines.push_str("NOT RUN, because they take long: the ignored tests; `.ci/long` runs them\n");
    }
    lines
}

fn remove(folder: &Path) {
    let deadline = Instant::now() + Duration::from_secs(REMOVAL_SECONDS);
    while std::fs::remove_dir_all(folder).is_err() && folder.exists() && Instant::now() < deadline {
        std::thread::yield_now();
    }
}

/// Removes the folders of processes that were killed.
fn remove_stale(parent: &Path) {
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(pid) = name.strip_prefix(PREFIX) else { continue };
        if !Path::new("/proc").join(pid).exists() {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}
