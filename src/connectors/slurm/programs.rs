//! The programs of Slurm as processes.
//!
//! They inherit the environment, so that `SLURM_CONF` and `PATH` work as in a shell. Variables that change what the programs
//! print are taken away, and times are printed as seconds since 1970, so that neither a time zone nor a language matters.

use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

use crate::connectors::fault::RoundFault;

/// The longest time that a program may take. Programs of Slurm try for minutes to reach a daemon that is away.
const PROGRAM_TIMEOUT: Duration = Duration::from_mins(2);
/// The beginnings of names of variables that change what programs print or read.
const OUTPUT_VARIABLES: [&str; 6] = ["SQUEUE_", "SPRIO_", "SACCT_", "SACCTMGR_", "SCONTROL_", "SLURM_CLUSTERS"];
/// How many characters of the messages of a program are shown.
const SHOWN_CHARS: usize = 300;

/// The texts of a program that has ended.
#[derive(Debug)]
pub struct ProgramOutput {
    status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl ProgramOutput {
    /// The first line of the messages, or how the program ended.
    pub fn message(&self) -> String {
        let text = if self.stderr.trim().is_empty() { self.status.to_string() } else { self.stderr.trim().to_owned() };
        text.lines().take(3).collect::<Vec<_>>().join("; ").chars().take(SHOWN_CHARS).collect()
    }

    pub fn is_success(&self) -> bool {
        self.status.success()
    }

    /// The signal that ended the program, if it did not end by itself.
    pub fn signal(&self) -> Option<i32> {
        self.status.signal()
    }
}

fn command(program: &str, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if OUTPUT_VARIABLES.iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
            command.env_remove(name);
        }
    }
    command.args(args).env("SLURM_TIME_FORMAT", "%s").env("LC_ALL", "C");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    command
}

fn start(program: &str, command: &mut Command) -> Result<Child, RoundFault> {
    let missing = |error| RoundFault::new("slurm", format!("cannot start {program}: {error}"));
    command.spawn().map_err(missing)
}

async fn end(program: &str, child: Child, limit: Duration) -> Result<ProgramOutput, RoundFault> {
    let output = match timeout(limit, child.wait_with_output()).await {
        Ok(Ok(output)) => output,
        Ok(Err(error)) => return Err(RoundFault::new("slurm", format!("{program} broke off: {error}"))),
        Err(_) => {
            let seconds = limit.as_secs();
            return Err(RoundFault::new("slurm_away", format!("{program} did not end within {seconds} seconds")));
        }
    };
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok(ProgramOutput { status: output.status, stdout: text(output.stdout), stderr: text(output.stderr) })
}

/// Runs a program to its end, whatever its exit code.
pub async fn run(program: &str, args: &[&str]) -> Result<ProgramOutput, RoundFault> {
    end(program, start(program, &mut command(program, args))?, PROGRAM_TIMEOUT).await
}

/// The text that a program prints. A program that fails, or whose text broke off, gives none.
pub async fn read(program: &str, args: &[&str]) -> Result<String, RoundFault> {
    let output = run(program, args).await?;
    if !output.is_success() {
        return Err(RoundFault::new("slurm_away", format!("{program} failed: {}", output.message())));
    }
    if !output.stdout.is_empty() && !output.stdout.ends_with('\n') {
        return Err(RoundFault::half_answer(program));
    }
    Ok(output.stdout)
}

/// Runs a program that reads lines, and sends it at most `per_second` lines in one second.
///
/// The program has a process group of its own, so that a signal that a terminal sends to the group of the connector does not end
/// it between two writes.
pub async fn feed(
    program: &str,
    args: &[&str],
    lines: &[String],
    per_second: usize,
) -> Result<ProgramOutput, RoundFault> {
    let mut child = start(program, command(program, args).stdin(Stdio::piped()).process_group(0))?;
    let mut input = child.stdin.take();
    let lines: Vec<String> = lines.chunks(per_second.max(1)).map(<[String]>::concat).collect();
    let limit = PROGRAM_TIMEOUT + Duration::from_secs(lines.len() as u64);
    let sending = async move {
        for (chunk, at) in lines.iter().zip(0..) {
            if at > 0 {
                sleep(Duration::from_secs(1)).await;
            }
            let Some(input) = input.as_mut() else { return };
            // A program that has ended says more in its messages than a broken pipe.
            if input.write_all(chunk.as_bytes()).await.is_err() || input.flush().await.is_err() {
                return;
            }
        }
    };
    let ((), output) = tokio::join!(sending, end(program, child, limit));
    output
}
