//! Threads that answer requests come first.

/// How much other threads give way: at 10 they get a tenth of what those that answer get, while there is not enough for all.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

/// Lowers the priority of this thread, and of the threads that it starts, where the system knows such a thing.
pub fn give_way() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, NICENESS) {
        tracing::debug!(%error, "the priority of a thread stays as it is");
    }
}
