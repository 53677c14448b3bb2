//! The priority of threads.

/// The value of `nice` for threads whose work can wait. Next to a thread with the usual priority they get about a tenth
/// of a core.
#[cfg(target_os = "linux")]
const PATIENT_NICE: i32 = 10;

/// True where threads of one process can have different priorities.
pub const LOWERS_PRIORITY: bool = cfg!(target_os = "linux");

/// Lowers the priority of the calling thread, and of the threads that it starts. On systems other than Linux the
/// priority belongs to the whole process, and nothing changes.
pub fn lower_own_priority() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, PATIENT_NICE) {
        tracing::debug!(%error, "a thread keeps the usual priority");
    }
}
