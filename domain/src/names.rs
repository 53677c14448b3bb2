//! Names that people give: resource groups, domains, agents, queues.

/// The longest name that a column holds.
pub const MAX_NAME: usize = 64;

/// The domain of projects whose domain no report and no admin has named yet. A report that names it, or none, moves no project.
pub const UNKNOWN_DOMAIN: &str = "unknown";

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "must have 1 to 64 characters, none of them a control character, a slash or a space at either end, and not be . or .."
)]
pub struct NameError;

/// Checks a name that will become part of a path and of a table.
pub fn check_name(name: &str) -> Result<(), NameError> {
    let legal = !name.is_empty()
        && name.chars().count() <= MAX_NAME
        && name.trim() == name
        && !matches!(name, "." | "..")
        && !name.chars().any(|c| c.is_control() || c == '/');
    if legal { Ok(()) } else { Err(NameError) }
}
