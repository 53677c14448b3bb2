//! Threads that work in the background give way to those that answer requests.

/// At 10 a thread gets about a tenth of what those that answer get, while there is not enough for all.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

/// Lowers the priority of this thread, and of those that it starts. On other systems a niceness is that of the whole process.
pub fn give_way() {
    #[cfg(target_os = "linux")]
    if let Err(error) = lower() {
        tracing::debug!(%error, "the priority of a thread stays as it is");
    }
}

/// A niceness that the thread has already is never taken from it: that would need a permission.
#[cfg(target_os = "linux")]
fn lower() -> rustix::io::Result<()> {
    use rustix::process::{getpriority_process, setpriority_process};
    let own = getpriority_process(None)?;
    setpriority_process(None, own.max(NICENESS))
}
