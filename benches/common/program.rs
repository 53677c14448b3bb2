//! The real program as a process, and its use of the machine.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

/// The program over one database, without the environment variables of the machine.
pub fn program(url: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fairshared"));
    command.env_clear().env("FAIRSHARED_DATABASE_URL", url).stdin(Stdio::null());
    command
}

/// The key of a new admin.
pub fn key(url: &str) -> String {
    key_of(url, &["--role", "admin"])
}

/// A new key with `flags`.
pub fn key_of(url: &str, flags: &[&str]) -> String {
    let made = program(url).args(["keys", "create", "--label", "bench"]).args(flags).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    String::from_utf8(made.stdout).unwrap().trim().to_owned()
}

/// A server whose process is killed when the value is dropped.
pub struct Program {
    child: Child,
    _stdout: BufReader<ChildStdout>,
    pub address: String,
}

impl Program {
    pub fn serve(url: &str) -> Self {
        let mut command = program(url);
        command.args(["serve", "--listen", "127.0.0.1:0"]).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        Self { child, _stdout: stdout, address: line.trim_end().trim_start_matches("listening on ").to_owned() }
    }

    /// The largest resident size so far, in MiB.
    pub fn peak(&self) -> f64 {
        size_of(self.child.id(), "VmHWM:").unwrap()
    }

    /// The resident size now, in MiB.
    pub fn resident(&self) -> f64 {
        size_of(self.child.id(), "VmRSS:").unwrap()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The cost of a command.
pub struct Cost {
    /// The largest resident size, in MiB.
    pub peak: f64,
    /// Seconds of processor time, in the program and in the system.
    pub cpu: f64,
}

/// Runs a command to its end.
pub fn cost(command: &mut Command) -> Cost {
    let before = cpu_of_ended();
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut peak = 0.0;
    let ended = loop {
        peak = size_of(child.id(), "VmHWM:").unwrap_or(peak);
        if let Some(ended) = child.try_wait().unwrap() {
            break ended;
        }
        // The peak only grows, so a sample misses nothing but the last moment.
        std::thread::sleep(std::time::Duration::from_millis(5));
    };
    assert!(ended.success(), "{ended}");
    Cost { peak, cpu: cpu_of_ended() - before }
}

/// Imports a file of jobs in the neutral CSV.
pub fn import(url: &str, file: &Path) -> Cost {
    tokio::task::block_in_place(|| cost(program(url).args(["import", "csv"]).arg(file)))
}

/// Seconds of processor time of all processes that this one has started and that have ended.
fn cpu_of_ended() -> f64 {
    /// Ticks of the system's clock per second, which are the same on every Linux.
    const TICKS: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    // The name of the process is in parentheses; of the fields after it, cutime and cstime are the 14th and 15th.
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks = |at: usize| fields[at].parse::<f64>().unwrap();
    (ticks(13) + ticks(14)) / TICKS
}

/// The bytes that this process has written to the system so far.
pub fn written() -> f64 {
    let io = std::fs::read_to_string("/proc/self/io").unwrap();
    io.lines().find_map(|line| line.strip_prefix("wchar: ")).unwrap().parse().unwrap()
}

/// The resident size of this process, in bytes.
pub fn own_size() -> f64 {
    size_of(std::process::id(), "VmRSS:").unwrap() * f64::from(1 << 20)
}

fn size_of(process: u32, what: &str) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(what))?;
    let kib: f64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kib / 1024.0)
}
