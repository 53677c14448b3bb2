//! Open files: every connection is one.

/// Files that the process needs besides its connections: the database, its log, standard streams.
#[cfg(target_os = "linux")]
const OTHERS: u64 = 128;

/// Raises this process' limit of open files as far as it may, and returns how many connections fit into it, at most
/// `wanted`.
pub fn connections(wanted: usize) -> usize {
    #[cfg(target_os = "linux")]
    if let Some(limit) = raise() {
        let fitting = usize::try_from(limit.saturating_sub(OTHERS)).unwrap_or(usize::MAX).max(1);
        if fitting < wanted {
            tracing::warn!(limit, fitting, wanted, "the limit of open files allows fewer connections than are set");
        }
        return wanted.min(fitting);
    }
    wanted
}

/// The limit in force then; `None`: there is none.
#[cfg(target_os = "linux")]
fn raise() -> Option<u64> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    match setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        Ok(()) => maximum,
        Err(error) => {
            tracing::debug!(%error, "the limit of open files stays as it is");
            current
        }
    }
}
