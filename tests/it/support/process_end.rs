//! The end of the test process: it stops its servers, removes its folder for temporary files, and prints the tests that
//! were not run.
//!
//! Values of a test remove their files when they are dropped, also after a panic. This module is for the rest: statics
//! are never dropped, and a program or browser that is killed leaves files behind. Such programs therefore write to a
//! folder of this process. If the process itself was killed, the next one removes its folder.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use super::packages::is_root;
use super::postgres;

const PREFIX: &str = "fairshared-tests-";
/// How long ending programs may still write into the folder.
const REMOVAL_SECONDS: u64 = 20;

static FOLDER: OnceLock<PathBuf> = OnceLock::new();
/// The tests that were not run, by reason.
static NOT_RUN: Mutex<BTreeMap<String, BTreeSet<String>>> = Mutex::new(BTreeMap::new());

/// Notes that `tests` were not run because of `reason`. Both are printed at the end of the process.
pub fn not_run(tests: &str, reason: &str) {
    register();
    let mut noted = NOT_RUN.lock().unwrap_or_else(PoisonError::into_inner);
    noted.entry(reason.to_owned()).or_default().insert(tests.to_owned());
}

/// The name of the calling test, if it has a thread of its own.
pub fn test_name() -> String {
    std::thread::current().name().filter(|name| *name != "main").unwrap_or("a test").to_owned()
}

/// The folder for the files of programs that tests start and kill. It is removed at the end of the process.
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

/// The folder for temporary files. PostgreSQL refuses to run as root, so tests of root need a folder that other users
/// can reach.
fn parent() -> PathBuf {
    let named = std::env::temp_dir();
    let is_reached = |folder: &Path| folder.metadata().is_ok_and(|found| found.permissions().mode() & 0o001 != 0);
    let path = named.canonicalize().unwrap_or_else(|_| named.clone());
    if !is_root() || path.ancestors().all(is_reached) { named } else { PathBuf::from("/tmp") }
}

/// Registers [`at_exit`], which is called once at the end of the process.
#[allow(unsafe_code, reason = "the standard library has no hook for the end of a process")]
fn register() {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        // SAFETY: the function has no parameters, and no panic leaves it.
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
    // Without arguments all tests were meant to run, and the harness counts ignored tests without a reason.
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
