//! The allocator of everything that links this library: the program, tests and benches.
//!
//! A snapshot of 100,000 users consists of millions of small blocks. mimalloc puts blocks of the same size next to each
//! other, which makes the calculation of factors about twice as fast. Large blocks come from the C library, which can
//! grow them without a copy, so that a request takes little more memory than what is kept of it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::{c_int, c_long};

use libmimalloc_sys as mimalloc;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// Blocks of at least this size, in bytes, come from the C library. Buffers of connections are larger, the parts of a
/// snapshot are smaller.
const LARGE: usize = 32 << 10;

struct Allocator;

/// The allocator of blocks below [`LARGE`] bytes.
struct Small;

/// The alignment, in bytes, of each block of mimalloc that is at least as large: that of `max_align_t`.
const NATURAL: usize = 16;

/// True if mimalloc aligns blocks of this size as required without being asked to. If an alignment is passed, mimalloc
/// takes a larger block for most sizes, and a slower path, even if the usual block has that alignment.
fn is_natural(layout: Layout) -> bool {
    layout.align() <= NATURAL && layout.align() <= layout.size()
}

#[allow(unsafe_code, reason = "an allocator cannot be made without it")]
// SAFETY: blocks of mimalloc do not overlap, have at least the size that was asked for, and are aligned as asked for,
// or naturally.
unsafe impl GlobalAlloc for Small {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (size, align) = (layout.size(), layout.align());
        // SAFETY: any size may be asked for, with any power of two.
        let block = unsafe {
            if is_natural(layout) { mimalloc::mi_malloc(size) } else { mimalloc::mi_malloc_aligned(size, align) }
        };
        block.cast()
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let (size, align) = (layout.size(), layout.align());
        // SAFETY: as above.
        let block = unsafe {
            if is_natural(layout) { mimalloc::mi_zalloc(size) } else { mimalloc::mi_zalloc_aligned(size, align) }
        };
        block.cast()
    }

    unsafe fn dealloc(&self, block: *mut u8, _: Layout) {
        // SAFETY: the block is from mimalloc, and is freed once.
        unsafe { mimalloc::mi_free(block.cast()) };
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let align = layout.align();
        // SAFETY: as in `dealloc`; the caller promises that `size` fits into a layout.
        let block = unsafe {
            if is_natural(Layout::from_size_align_unchecked(size, align)) {
                mimalloc::mi_realloc(block.cast(), size)
            } else {
                mimalloc::mi_realloc_aligned(block.cast(), size, align)
            }
        };
        block.cast()
    }
}

fn is_large(bytes: usize) -> bool {
    bytes >= LARGE
}

#[allow(unsafe_code, reason = "an allocator cannot be made of two others without it")]
// SAFETY: a block goes back to the allocator it is from, because the caller passes its size when it frees or resizes
// it.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: both allocators require what the caller of this function promises.
        unsafe { if is_large(layout.size()) { System.alloc(layout) } else { Small.alloc(layout) } }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        unsafe { if is_large(layout.size()) { System.alloc_zeroed(layout) } else { Small.alloc_zeroed(layout) } }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: `layout` is that of the allocation.
        unsafe { if is_large(layout.size()) { System.dealloc(block, layout) } else { Small.dealloc(block, layout) } }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as for `dealloc`. If the block moves to the other allocator, the smaller of the two sizes is copied
        // to a block that does not overlap it.
        unsafe {
            match (is_large(layout.size()), is_large(size)) {
                (true, true) => System.realloc(block, layout, size),
                (false, false) => Small.realloc(block, layout, size),
                _ => {
                    let moved = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
                    if !moved.is_null() {
                        std::ptr::copy_nonoverlapping(block, moved, layout.size().min(size));
                        self.dealloc(block, layout);
                    }
                    moved
                }
            }
        }
    }
}

/// The number of arenas of the C library, which all threads share. With several, busy threads rarely wait for each
/// other.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const ARENAS: i32 = 4;
/// Blocks of at least this size, in bytes, are mapped one by one by the C library and returned to the system at once.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const BLOCK_BYTES: i32 = 1 << 20;
/// The same for commands that soon need such blocks again, in bytes: the largest value that the C library accepts.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const KEPT_BYTES: i32 = 32 << 20;

/// How long mimalloc keeps free pages before it returns them to the system, in milliseconds. The default is a second,
/// and then the pages are returned only at a later allocation.
const FREE_PAGES_KEPT: c_long = 10;
/// The same for commands that soon need such pages again, in milliseconds.
const PAGES_KEPT_BY_COMMANDS: c_long = 1_000;
/// The option `mi_option_purge_delay`, for which the crate has no constant.
const PURGE_DELAY: c_int = 15;

/// Makes both allocators return unused memory to the system. By default glibc has eight arenas for each core, keeps in
/// each of them as much as its largest use took, and raises the size from which blocks are returned at once up to 32
/// MiB. Call this before any thread is started. Settings in the environment (`MALLOC_ARENA_MAX` and the like) take
/// precedence.
pub fn give_back() {
    keep_free_pages(FREE_PAGES_KEPT);
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        set("MALLOC_ARENA_MAX", libc::M_ARENA_MAX, ARENAS);
        give_back_from(BLOCK_BYTES);
    }
}

/// Makes both allocators keep free memory for the next use. This is for a command that allocates and frees the same
/// blocks again and again: otherwise the system would have to clear their pages each time.
pub fn keep_blocks() {
    keep_free_pages(PAGES_KEPT_BY_COMMANDS);
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    give_back_from(KEPT_BYTES);
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn give_back_from(bytes: i32) {
    set("MALLOC_MMAP_THRESHOLD_", libc::M_MMAP_THRESHOLD, bytes);
    set("MALLOC_TRIM_THRESHOLD_", libc::M_TRIM_THRESHOLD, bytes);
}

/// Sets how long mimalloc keeps free pages, unless the environment sets it.
fn keep_free_pages(milliseconds: c_long) {
    if std::env::var_os("MIMALLOC_PURGE_DELAY").is_some() {
        return;
    }
    #[allow(unsafe_code, reason = "no crate offers it")]
    // SAFETY: it takes two numbers, and may be called at any time.
    unsafe {
        mimalloc::mi_option_set(PURGE_DELAY, milliseconds);
    }
}

/// Sets an option of the C library, unless the environment sets it.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn set(variable: &str, option: i32, value: i32) {
    if std::env::var_os(variable).is_some() {
        return;
    }
    #[allow(unsafe_code, reason = "no crate offers it; it takes two numbers, and glibc checks them")]
    // SAFETY: `mallopt` takes no pointers, locks the allocator itself, and may be called at any time.
    unsafe {
        libc::mallopt(option, value)
    };
}

/// Returns free pages to the system. Without this call both allocators do so only at later allocations, and the C
/// library only at the ends of its arenas.
pub fn trim() {
    #[allow(unsafe_code, reason = "no crate offers it")]
    // SAFETY: it takes a boolean, and may be called at any time.
    unsafe {
        mimalloc::mi_collect(true);
    }
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[allow(unsafe_code, reason = "no crate offers it")]
    // SAFETY: `malloc_trim` takes a number, locks the allocator itself, and may be called at any time.
    unsafe {
        libc::malloc_trim(0);
    }
}
