//! Questions to the user before something is lost.

use std::io::{IsTerminal, Write, stderr, stdin};

use super::failure::CommandFailure;

/// True if standard input is a terminal, so that the user can be asked.
pub fn is_terminal() -> bool {
    stdin().is_terminal()
}

/// Continues if the user at the terminal answers yes. Without a terminal `--yes` has to be given.
pub fn confirm(question: &str) -> Result<(), CommandFailure> {
    if !is_terminal() {
        return Err(CommandFailure::Unusable(
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
    Err(CommandFailure::Failed("nothing was changed".to_owned()))
}
