//! Programs that the tests need. They are installed if that is possible.

use std::path::Path;
use std::process::{Command, Stdio};

use super::process_end::scratch_folder;

/// Installs a Debian package if this process may do so. Otherwise does nothing, and the caller reports the missing
/// program.
pub fn install(package: &str) {
    if is_root() && Command::new("apt-get").arg("--version").output().is_ok() {
        run(Command::new("apt-get").args(["update", "-qq"]));
        run(Command::new("apt-get")
            .args(["install", "-y", "-qq", "--no-install-recommends", package])
            .env("DEBIAN_FRONTEND", "noninteractive"));
    }
}

pub fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|o| o.stdout.starts_with(b"0\n"))
}

pub fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// The result of an installation of Node.js packages.
pub enum Installation {
    Complete,
    /// The registry does not answer; with the reason.
    OutOfReach(String),
    Failed(String),
}

/// Error codes of npm for a network or registry that cannot be reached.
const OUT_OF_REACH: [&str; 12] = [
    "EAI_AGAIN",
    "ECONNREFUSED",
    "ECONNRESET",
    "EHOSTUNREACH",
    "ENETUNREACH",
    "ENOTFOUND",
    "EPIPE",
    "ERR_SOCKET_TIMEOUT",
    "ETIMEDOUT",
    "E502",
    "E503",
    "E504",
];

/// Installs the packages in the lock file of `folder`, unless they are installed already.
pub fn install_node_packages(folder: &Path, env: &[(&str, &str)]) -> Installation {
    // npm writes this file last, so that an incomplete installation does not count.
    if folder.join("node_modules/.package-lock.json").exists() {
        return Installation::Complete;
    }
    let mut command = Command::new("npm");
    command
        .arg("ci")
        .current_dir(folder)
        .envs(env.iter().copied())
        .env("TMPDIR", scratch_folder())
        .stdin(Stdio::null());
    let output = command.output().unwrap();
    if output.status.success() {
        return Installation::Complete;
    }
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let code =
        text.lines().find_map(|line| line.strip_prefix("npm error code ").or(line.strip_prefix("npm ERR! code ")));
    match code.map(str::trim).filter(|code| OUT_OF_REACH.contains(code)) {
        Some(code) => {
            Installation::OutOfReach(format!("npm does not reach its registry ({code}), and the packages are not here"))
        }
        None => Installation::Failed(text),
    }
}
