//! The limit of open files. Each connection takes one.

use std::fmt;

/// Files that the process needs besides its connections: the database with its log, files that are being read, and the
/// standard streams.
#[cfg(target_os = "linux")]
const OTHER_FILES: u64 = 128;

/// The error if the system's limit of open files is too low.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooFewFiles {
    pub needed: u64,
    pub limit: u64,
    /// The number of connections that the limit allows.
    pub fitting_connections: u64,
}

impl fmt::Display for TooFewFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { needed, limit, fitting_connections } = self;
        write!(
            f,
            "this process may open {limit} files, and needs {needed} for its connections and the database. Raise the limit \
             (`LimitNOFILE={needed}` of systemd, `--ulimit nofile={needed}` of Docker, `ulimit -Hn {needed}` as root)"
        )?;
        if *fitting_connections > 0 {
            write!(f, ", or set `max_connections` to {fitting_connections} at most")?;
        }
        Ok(())
    }
}

impl std::error::Error for TooFewFiles {}

/// Raises this process' limit of open files as far as the system allows. Fails if `connections` do not fit into it.
pub fn make_room_for(connections: usize) -> Result<(), TooFewFiles> {
    #[cfg(target_os = "linux")]
    if let Some(limit) = raise_limit() {
        let needed = u64::try_from(connections).unwrap_or(u64::MAX).saturating_add(OTHER_FILES);
        if limit < needed {
            return Err(TooFewFiles { needed, limit, fitting_connections: limit.saturating_sub(OTHER_FILES) });
        }
    }
    Ok(())
}

/// Raises the limit to the maximum, and returns the limit that is then in force; `None`: unlimited.
#[cfg(target_os = "linux")]
fn raise_limit() -> Option<u64> {
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
