//! The name of this process for other processes and for people.

/// The process id and the host name, like `process 4711 on node-1`.
pub fn name() -> String {
    let machine = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    match machine.trim() {
        "" => format!("process {}", std::process::id()),
        machine => format!("process {} on {machine}", std::process::id()),
    }
}
