//! Questions before something is lost.

use std::io::{IsTerminal, Write, stderr, stdin};

use super::failure::Failure;

/// Whether somebody is there to be asked.
pub fn somebody_is_there() -> bool {
    stdin().is_terminal()
}

/// Goes on if whoever sits at the terminal says yes; without a terminal `--yes` has to be given.
pub fn confirm(question: &str) -> Result<(), Failure> {
    if !somebody_is_there() {
        return Err(Failure::Unusable(
            "the standard input is no terminal; to go on without a question, give --yes".to_owned(),
        ));
    }
    let _ = write!(stderr(), "{question} [y/N] ");
    let _ = stderr().flush();
    let mut answer = String::new();
    stdin().read_line(&mut answer)?;
    if matches!(answer.trim().to_lowercase().as_str(), "y" | "yes") {
        return Ok(());
    }
    Err(Failure::Failed("nothing was changed".to_owned()))
}
