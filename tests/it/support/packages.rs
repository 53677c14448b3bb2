//! Programs that the tests need besides their own: installed where that is possible.

use std::process::Command;

/// Installs a Debian package, where this may be done; elsewhere the caller says that it is missing.
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
