//! The tests leave nothing in the folder for temporary files, and report the tests that they have not run.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use crate::browser;
use crate::demo::program::Demo;
use crate::support::database::{postgres, sqlite};
use crate::support::packages::{self, Installation};
use crate::support::plain;
use crate::support::process_end::{not_run, scratch_folder};

/// Set by the test that runs the test below once more.
const ENDING: &str = "LEFTOVERS_ENDING";

/// Creates a file of each kind that was once left behind.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn databases_a_demo_and_a_browser_are_used() {
    let databases = (sqlite().await, postgres().await);
    let killed = Demo::start(&["--days", "3"]);
    let profile = tempfile::tempdir_in(scratch_folder()).unwrap();
    let mut browser = browser::launch(profile.path(), &format!("http://{}/healthz", killed.address()));
    browser.start_kill().unwrap();
    browser.wait().await.unwrap();
    let ending = std::env::var(ENDING).unwrap_or_default();
    if !ending.is_empty() {
        assert!(plain::data().is_none());
    }
    assert_ne!(ending, "panic");
    drop((databases, killed));
}

fn run_again(folder: &Path, ending: &str) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--test-threads", "2", "--exact", "house::leftovers::databases_a_demo_and_a_browser_are_used"]);
    command.env("TMPDIR", folder).env("FAIRSHARED_TEST_DATA", folder.join("nothing")).env(ENDING, ending);
    command.output().unwrap()
}

#[test]
fn nothing_is_left_after_success_and_after_a_panic() {
    for (ending, code) in [("success", 0), ("panic", 101)] {
        let folder = tempfile::tempdir().unwrap();
        // PostgreSQL runs as another user, where the tests run as root.
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        // A process that was killed has left this.
        std::fs::create_dir(folder.path().join("fairshared-tests-999999999")).unwrap();
        let ran = run_again(folder.path(), ending);
        let output = String::from_utf8_lossy(&ran.stdout).into_owned();
        assert_eq!(ran.status.code(), Some(code), "{output}");
        let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(left.is_empty(), "{ending}: {left:?}");
        let last = output.trim_end().lines().last().unwrap();
        let said = format!(
            "NOT RUN, because there is no folder {}: house::leftovers::databases_a_demo_and_a_browser_are_used",
            folder.path().join("nothing").display()
        );
        assert_eq!(last, said, "{output}");
    }
}

#[test]
fn a_registry_out_of_reach_is_no_failure() {
    if Command::new("npm").arg("--version").output().is_err() {
        return not_run("house::leftovers::a_registry_out_of_reach_is_no_failure", "there is no npm here");
    }
    let folder = tempfile::tempdir().unwrap();
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("ui");
    for file in ["package.json", "package-lock.json"] {
        std::fs::copy(pages.join(file), folder.path().join(file)).unwrap();
    }
    let cache = folder.path().join("cache");
    let env = [
        ("npm_config_registry", "http://127.0.0.1:1/"),
        ("npm_config_cache", cache.to_str().unwrap()),
        ("npm_config_fetch_retries", "0"),
    ];
    let Installation::OutOfReach(reason) = packages::install_node_packages(folder.path(), &env) else {
        panic!("it is there")
    };
    assert_eq!(reason, "npm does not reach its registry (ECONNREFUSED), and the packages are not here");
    // An install that fails for another reason is a failure.
    std::fs::write(folder.path().join("package-lock.json"), "{").unwrap();
    assert!(matches!(packages::install_node_packages(folder.path(), &env), Installation::Failed(_)));
}
