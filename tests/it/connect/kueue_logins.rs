//! A kubeconfig whose login program renews the token of the connector for Kueue between two rounds.

use std::fs::OpenOptions;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::kueue_objects::ago;
use super::kueue_rig::{KueueRig, RunningRounds};
use super::kueue_stub::TOKEN;
use super::slurm_rig::wait_until;

/// The script of a login program. It waits for a writer while there is a pipe, and fails while there is a file `fails`.
fn login_script(folder: &Path) -> String {
    // A token that lasts for less than a minute is renewed before each request.
    let (folder, expiry) = (folder.display(), ago(-30));
    format!(
        "cd '{folder}'\n\
         echo started >>starts\n\
         if [ -p pipe ]; then cat pipe; fi\n\
         if [ -f fails ]; then echo a-secret; echo no such account >&2; exit 3; fi\n\
         printf '{{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",'\n\
         printf '\"status\":{{\"token\":\"{TOKEN}\",\"expirationTimestamp\":\"{expiry}\"}}}}'\n"
    )
}

/// A cluster whose kubeconfig has a login program.
fn with_login() -> KueueRig {
    let rig = KueueRig::start();
    let mut config = rig.stub.kubeconfig();
    config["users"][0]["user"] = json!({"exec": {
        "apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never",
        "command": "/bin/sh", "args": ["-c", login_script(rig.folder.path())]
    }});
    std::fs::write(rig.folder.path().join("kubeconfig"), config.to_string()).unwrap();
    rig
}

/// The number of login programs that were started.
fn starts(rig: &KueueRig) -> usize {
    std::fs::read_to_string(rig.folder.path().join("starts")).unwrap().lines().count()
}

/// The distinct faults of a round that has only those of the kubeconfig.
#[track_caller]
fn login_faults(rounds: &mut RunningRounds) -> Vec<String> {
    let outcome = rounds.run();
    assert!(!outcome.is_ok() && outcome.errors.iter().all(|error| error.code == "kubeconfig"), "{outcome:?}");
    let mut details: Vec<String> = outcome.errors.into_iter().map(|error| error.detail).collect();
    details.dedup();
    details
}

#[test]
fn a_login_program_that_does_not_end_at_a_renewal_ends_the_round() {
    let rig = with_login();
    let mut rounds = rig.running("");
    rounds.round();
    let pipe = rig.folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let before = starts(&rig);
    let detail = "cannot use the settings of the cluster: the login program of the kubeconfig (`exec`) did not end within 4 seconds";
    // The second round waits for the program of the first one, and starts no other.
    for _ in 0..2 {
        assert_eq!((login_faults(&mut rounds), starts(&rig)), (vec![detail.to_owned()], before + 1));
    }
    // The program ends when its pipe has a writer that closes it.
    let writer = OpenOptions::new().write(true).open(&pipe).unwrap();
    std::fs::remove_file(&pipe).unwrap();
    drop(writer);
    wait_until("the login program has ended", || rounds.run().is_ok());
}

/// The output of the program may be a token.
#[test]
fn a_login_program_that_fails_at_a_renewal_is_a_fault_without_its_output() {
    let rig = with_login();
    let mut rounds = rig.running("");
    rounds.round();
    let fails = rig.folder.path().join("fails");
    std::fs::write(&fails, "").unwrap();
    let detail = "cannot use the settings of the cluster: the login program of the kubeconfig (`exec`) failed (exit status: 3): no such account";
    assert_eq!(login_faults(&mut rounds), [detail]);
    std::fs::remove_file(&fails).unwrap();
    rounds.round();
}
