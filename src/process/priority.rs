//! Threads that answer requests come first: they get a turn soon after they ask for it, and others give way.

/// How much other threads give way: at 10 they get a tenth of what those that answer get, while there is not enough for all.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;
/// Whoever takes short turns need not wait until those that take long ones have ended theirs. The shortest that there is.
#[cfg(target_os = "linux")]
const TURN_NANOSECONDS: u64 = 100_000;

/// This thread, and those that it starts, come to their turn soon, where the system knows such a thing (Linux 6.12).
pub fn answer_soon() {
    #[cfg(target_os = "linux")]
    apply(0, TURN_NANOSECONDS);
}

/// Lowers the priority of this thread, and of those that it starts; their turns are as long as the system likes.
pub fn give_way() {
    #[cfg(target_os = "linux")]
    apply(NICENESS, 0);
}

/// A niceness that the thread has already is never taken from it: that would need a permission.
#[cfg(target_os = "linux")]
fn apply(niceness: i32, turn: u64) {
    let set = rustix::process::getpriority_process(None)
        .map_err(std::io::Error::from)
        .and_then(|own| set(own.max(niceness), turn));
    if let Err(error) = set {
        tracing::debug!(%error, "the priority of a thread stays as it is");
    }
}

#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "no crate offers it; it reads one structure")]
#[allow(clippy::cast_possible_truncation, reason = "a structure of 48 bytes")]
fn set(niceness: i32, turn: u64) -> std::io::Result<()> {
    let attributes = libc::sched_attr {
        size: size_of::<libc::sched_attr>() as u32,
        sched_policy: libc::SCHED_OTHER.cast_unsigned(),
        sched_flags: 0,
        sched_nice: niceness,
        sched_priority: 0,
        sched_runtime: turn,
        sched_deadline: 0,
        sched_period: 0,
    };
    // SAFETY: the structure is alive during the call and tells its size; 0 is the calling thread.
    let answer = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    if answer == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}
