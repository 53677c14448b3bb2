//! The allocator of everything that links this library: the program, tests and benches.
//!
//! A picture of 100,000 users is made of millions of small blocks. mimalloc lays blocks of one size side by side, which takes
//! about half of the time from the calculation of factors. Large blocks are left to the C library: it makes them larger
//! without a copy, so that a request costs little more than what is kept of it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::{c_int, c_long};

use libmimalloc_sys as mimalloc;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// From here on a block is the C library's. Buffers of connections are larger, what a picture is made of is smaller.
const LARGE_BLOCK_BYTES: usize = 32 << 10;

struct Allocator;

/// Blocks of up to [`LARGE_BLOCK_BYTES`] bytes.
struct Small;

/// The alignment of each block of mimalloc that is at least as large: that of `max_align_t`.
const NATURAL_ALIGNMENT: usize = 16;

/// True if every block of that size is aligned anyway. If an alignment is requested, even one that its blocks have,
/// mimalloc takes a larger
/// block for most sizes, in a slower way.
fn is_natural(layout: Layout) -> bool {
    layout.align() <= NATURAL_ALIGNMENT && layout.align() <= layout.size()
}

#[allow(unsafe_code, reason = "an allocator cannot be made without it")]
// SAFETY: mimalloc gives blocks that do not overlap, at least as large as asked for, and aligned: as asked for, or naturally.
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
        // SAFETY: the block is one that mimalloc gave, and is freed once.
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
    bytes >= LARGE_BLOCK_BYTES
}

#[allow(unsafe_code, reason = "an allocator cannot be made of two others without it")]
// SAFETY: a block goes back to the allocator it is from, because the caller that frees or resizes it says its size.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: what the caller promises is what both ask for.
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
        // SAFETY: as for `dealloc`; a block that changes sides is copied, as far as both sizes reach, into one that does not
        // overlap it.
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

/// Arenas of the C library that threads share. Several, so that threads that are busy at once rarely wait for each other.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const MAX_ARENAS: i32 = 4;
/// From here on the C library takes a block from the system by itself and gives it back at once.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const BLOCK_BYTES: i32 = 1 << 20;
/// The same in a command that wants such blocks again at once: the most that the C library takes.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const KEPT_BYTES: i32 = 32 << 20;

/// How long mimalloc keeps free pages for the next allocation, in milliseconds; by default it is a second, and
/// pages are returned only by a later allocation.
const FREE_PAGES_KEPT: c_long = 10;
/// The same in a command that wants such pages again at once.
const PAGES_KEPT_BY_COMMANDS: c_long = 1_000;
/// `mi_option_purge_delay`, which the crate does not name.
const PURGE_DELAY: c_int = 15;

/// Has both allocators give back what is not used. By default glibc has eight arenas for each core, keeps what the largest of
/// all runs took in each of them, and moves the size from which blocks are given back up to 32 MiB. To be called before there
/// are threads; what the environment says (`MALLOC_ARENA_MAX` and the like) stands.
pub fn give_back() {
    keep_free_pages(FREE_PAGES_KEPT);
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        set("MALLOC_ARENA_MAX", libc::M_ARENA_MAX, MAX_ARENAS);
        give_back_from(BLOCK_BYTES);
    }
}

/// Has both allocators keep what is free for what is wanted next. This is for a command that takes and frees the same blocks again
/// and again: each time the system would have to clear their pages.
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

/// Unless the environment says how long.
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

/// Sets an option of the C library, unless the environment does.
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

/// Gives pages back that are free. By themselves both allocators do so only while others allocate, and the C library at the ends
/// of its arenas alone.
pub fn trim() {
    #[allow(unsafe_code, reason = "no crate offers it")]
    // SAFETY: it takes a truth value, and may be called at any time.
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
