//! The real program as a process.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::Value;

use crate::support::database::TestDb;
use crate::support::process_end::scratch_folder;

/// The program without the environment variables of the machine.
pub fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fairshared"));
    command.env_clear().env("TMPDIR", scratch_folder()).stdin(Stdio::null());
    command
}

/// The program over one database.
pub fn over(url: &str) -> Command {
    let mut command = program();
    command.env("FAIRSHARED_DATABASE_URL", url);
    // Tests that run at the same time do not ask for the same port.
    command.env("FAIRSHARED_LISTEN", "127.0.0.1:0");
    command
}

/// How a run ended.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ended {
    /// The output of a run that has succeeded.
    #[track_caller]
    pub fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.stdout
    }

    #[track_caller]
    pub fn json(self) -> Value {
        serde_json::from_str(&self.ok()).unwrap()
    }

    /// The one line of a run that was refused with `code` and printed nothing.
    #[track_caller]
    pub fn refused(self, code: i32) -> String {
        assert_eq!((self.code, self.stdout.as_str()), (Some(code), ""), "{self:?}");
        let line = self.stderr.strip_prefix("error: ").unwrap_or_else(|| panic!("{self:?}"));
        let line = line.strip_suffix('\n').unwrap_or(line);
        assert!(!line.contains('\n'), "{self:?}");
        line.to_owned()
    }
}

pub fn end(command: &mut Command) -> Ended {
    let output = command.output().unwrap();
    Ended {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Runs one command over `db`.
pub fn run<S: AsRef<OsStr>>(db: &TestDb, args: impl IntoIterator<Item = S>) -> Ended {
    end(over(&db.url).args(args))
}

/// Runs one command over `db` that reads `input`.
pub fn run_with_input(db: &TestDb, args: &[&str], input: &[u8]) -> Ended {
    fed(over(&db.url).args(args), input)
}

/// Runs a command that reads `input`.
pub fn fed(command: &mut Command, input: &[u8]) -> Ended {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A program that refuses early does not read.
    let _ = child.stdin.take().unwrap().write_all(input);
    let output = child.wait_with_output().unwrap();
    Ended {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A server whose process is killed when the value is dropped.
pub struct Server {
    child: Child,
    _stdout: BufReader<ChildStdout>,
    pub address: String,
}

impl Server {
    /// Starts `command` and waits until it prints its address.
    pub fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let address = line.trim_end().strip_prefix("listening on ").unwrap_or_else(|| panic!("{line:?}")).to_owned();
        Self { child, _stdout: stdout, address }
    }

    pub fn over(url: &str) -> Self {
        Self::start(over(url).args(["serve", "--listen", "127.0.0.1:0"]).stderr(Stdio::null()))
    }

    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").arg(format!("-{name}")).arg(self.child.id().to_string()).status().unwrap();
        assert!(sent.success());
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The most memory that it had so far, in KiB.
    pub fn peak_memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    /// Waits for the end; the exit code, unless a signal ended it.
    pub fn wait(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A file with this content.
pub fn file(folder: &Path, name: &str, content: impl AsRef<[u8]>) -> String {
    let path = folder.join(name);
    std::fs::write(&path, content).unwrap();
    path.display().to_string()
}
