//! The programs of a scheduler as processes.
//!
//! They inherit the environment, so that the scheduler's own variables and `PATH` work as in a shell. Variables that change what
//! the programs print are taken away, so that neither a time zone nor a language matters.

use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

use super::fault::RoundFault;

/// The longest time that a program of a scheduler may take. It may try for minutes to reach a daemon that is away.
pub const PROGRAM_TIME_LIMIT: Duration = Duration::from_mins(2);
/// How many characters of the messages of a program are shown.
const SHOWN_CHARS: usize = 300;

/// The texts of a program that has ended.
#[derive(Debug)]
pub struct ProgramOutput {
    /// `None` if it took too long and was killed. The texts are then those until that time.
    status: Option<ExitStatus>,
    pub stdout: String,
    pub stderr: String,
}

impl ProgramOutput {
    /// The first lines of the messages, or how the program ended.
    pub fn message(&self) -> String {
        let end = || self.status.map_or_else(|| "it took too long".to_owned(), |status| status.to_string());
        let text = if self.stderr.trim().is_empty() { end() } else { self.stderr.trim().to_owned() };
        text.lines().take(3).collect::<Vec<_>>().join("; ").chars().take(SHOWN_CHARS).collect()
    }

    pub fn is_success(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }

    /// True if the program took too long and was killed.
    pub fn is_broken_off(&self) -> bool {
        self.status.is_none()
    }

    /// The signal that ended the program, if it did not end by itself.
    pub fn signal(&self) -> Option<i32> {
        self.status?.signal()
    }
}

/// The programs of one scheduler.
#[derive(Clone, Copy, Debug)]
pub struct ProgramFamily {
    /// The code of the fault that a program cannot be started.
    pub missing_code: &'static str,
    /// The code of the fault that a program fails, or does not end.
    pub away_code: &'static str,
    /// The beginnings of names of variables that change what programs print or read.
    pub removed_variables: &'static [&'static str],
    /// Variables that the programs get, with their values.
    pub set_variables: &'static [(&'static str, &'static str)],
    /// The longest time that a program may take.
    pub time_limit: Duration,
}

impl ProgramFamily {
    fn command(&self, program: &str, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        for (name, _) in std::env::vars_os() {
            if self.removed_variables.iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
                command.env_remove(name);
            }
        }
        command.args(args).envs(self.set_variables.iter().copied());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        command
    }

    fn start(&self, program: &str, command: &mut Command) -> Result<Child, RoundFault> {
        let missing = |error| RoundFault::new(self.missing_code, format!("cannot start {program}: {error}"));
        command.spawn().map_err(missing)
    }

    /// Waits for the end of a program. One that takes longer than `limit` is killed.
    async fn end(&self, program: &str, mut child: Child, limit: Duration) -> Result<ProgramOutput, RoundFault> {
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let pipes = (child.stdout.take(), child.stderr.take());
        let reading = async {
            tokio::try_join!(read_pipe(pipes.0, &mut stdout), read_pipe(pipes.1, &mut stderr))?;
            child.wait().await
        };
        let status = match timeout(limit, reading).await {
            Ok(Ok(status)) => Some(status),
            Ok(Err(error)) => {
                return Err(RoundFault::new(self.missing_code, format!("{program} broke off: {error}")));
            }
            Err(_) => None,
        };
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ok(ProgramOutput { status, stdout: text(stdout), stderr: text(stderr) })
    }

    /// Runs a program to its end, whatever its exit code.
    pub async fn run(&self, program: &str, args: &[&str]) -> Result<ProgramOutput, RoundFault> {
        let child = self.start(program, &mut self.command(program, args))?;
        let output = self.end(program, child, self.time_limit).await?;
        if output.is_broken_off() {
            let seconds = self.time_limit.as_secs();
            return Err(RoundFault::new(self.away_code, format!("{program} did not end within {seconds} seconds")));
        }
        Ok(output)
    }

    /// The text that a program prints. A program that fails, or whose text broke off, gives none.
    pub async fn read(&self, program: &str, args: &[&str]) -> Result<String, RoundFault> {
        let output = self.run(program, args).await?;
        if !output.is_success() {
            return Err(RoundFault::new(self.away_code, format!("{program} failed: {}", output.message())));
        }
        if !output.stdout.is_empty() && !output.stdout.ends_with('\n') {
            return Err(RoundFault::half_answer(program));
        }
        Ok(output.stdout)
    }

    /// Runs a program that reads lines, and sends it at most `per_second` lines in one second. The output of one that takes too long is
    /// broken off, because it says what became of the lines until then.
    ///
    /// The program has a process group of its own, so that a signal that a terminal sends to the group of the connector does not end
    /// it between two writes.
    pub async fn feed(
        &self,
        program: &str,
        args: &[&str],
        lines: &[String],
        per_second: usize,
    ) -> Result<ProgramOutput, RoundFault> {
        let mut child = self.start(program, self.command(program, args).stdin(Stdio::piped()).process_group(0))?;
        let mut input = child.stdin.take();
        let lines: Vec<String> = lines.chunks(per_second.max(1)).map(<[String]>::concat).collect();
        let limit = self.time_limit + Duration::from_secs(lines.len() as u64);
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
        let ((), output) = tokio::join!(sending, self.end(program, child, limit));
        output
    }
}

async fn read_pipe(pipe: Option<impl AsyncRead + Unpin>, text: &mut Vec<u8>) -> std::io::Result<()> {
    if let Some(mut pipe) = pipe {
        pipe.read_to_end(text).await?;
    }
    Ok(())
}
