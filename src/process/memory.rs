//! What the allocator keeps when it is not used.
//!
//! By default glibc has eight arenas for each core, keeps what the largest of all runs took in each of them, and moves the
//! size from which blocks are given back at once up to 32 MiB: a server that aggregates every five minutes would hold on to
//! more than twice of what it uses.

/// Arenas that threads share. Several, so that groups that are busy at once rarely wait for each other.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const ARENAS: i32 = 4;
/// From here on a block comes from the system and goes back to it.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const BLOCK_BYTES: i32 = 1 << 20;

/// Lets the allocator give back what is not used. To be called before there are threads; what the environment says
/// (`MALLOC_ARENA_MAX` and the like) stands.
pub fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    for (variable, option, value) in [
        ("MALLOC_ARENA_MAX", libc::M_ARENA_MAX, ARENAS),
        ("MALLOC_MMAP_THRESHOLD_", libc::M_MMAP_THRESHOLD, BLOCK_BYTES),
        ("MALLOC_TRIM_THRESHOLD_", libc::M_TRIM_THRESHOLD, BLOCK_BYTES),
    ] {
        if std::env::var_os(variable).is_none() {
            set(option, value);
        }
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(unsafe_code, reason = "no crate offers it; it takes two numbers, and glibc checks them")]
fn set(option: i32, value: i32) {
    // SAFETY: `mallopt` takes no pointers, locks the allocator itself, and may be called at any time.
    unsafe { libc::mallopt(option, value) };
}
