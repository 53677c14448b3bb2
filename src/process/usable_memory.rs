//! The memory that this process may use.

use sysinfo::{MemoryRefreshKind, System};

/// The number of bytes that the process may use: the limit of its control group, but at most the memory of the machine.
pub fn usable_bytes() -> usize {
    let mut system = System::new();
    system.refresh_memory_specifics(MemoryRefreshKind::nothing().with_ram());
    let machine = system.total_memory();
    let limit = system.cgroup_limits().map_or(machine, |limits| limits.total_memory.min(machine));
    usize::try_from(limit).unwrap_or(usize::MAX)
}
