//! The priority of threads on the machine's cores.

/// How much lower the priority of threads is whose work can wait, as the value of `nice`: beside a thread with the usual
/// priority they get about a tenth of a core.
#[cfg(target_os = "linux")]
const PATIENT_NICE: i32 = 10;

/// True where threads of one process can have different priorities.
pub const LOWERS_PRIORITY: bool = cfg!(target_os = "linux");

/// Lets the calling thread, and those that it starts, give way to threads with the usual priority. Where priorities belong to
/// whole processes and not to threads, nothing changes.
pub fn lower_own_priority() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, PATIENT_NICE) {
        tracing::debug!(%error, "a thread keeps the usual priority");
    }
}
