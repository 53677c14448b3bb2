//! Where SQLite takes its memory from. A row is made on the thread of its connection and freed on the one that reads it. The
//! C library has the two wait for each other; mimalloc does not.

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::Once;

use libmimalloc_sys as mimalloc;
use libsqlite3_sys as sqlite;

/// Has SQLite take its memory from mimalloc. Where SQLite is at work already, it stays as it is.
#[allow(unsafe_code, reason = "no crate offers it")]
pub fn from_mimalloc() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let mut methods = sqlite::sqlite3_mem_methods {
            xMalloc: Some(allocate),
            xFree: Some(free),
            xRealloc: Some(resize),
            xSize: Some(size),
            xRoundup: Some(round_up),
            xInit: Some(start),
            xShutdown: Some(stop),
            pAppData: null_mut(),
        };
        // SAFETY: SQLite copies the methods before the call returns, and refuses the call once it has begun to work.
        unsafe { sqlite::sqlite3_config(sqlite::SQLITE_CONFIG_MALLOC, &raw mut methods) };
    });
}

/// SQLite asks for no negative sizes.
fn as_bytes(asked: c_int) -> usize {
    usize::try_from(asked).unwrap_or(0)
}

fn as_c_int(bytes: usize) -> c_int {
    c_int::try_from(bytes).unwrap_or(c_int::MAX)
}

#[allow(unsafe_code, reason = "called by C")]
unsafe extern "C" fn allocate(asked: c_int) -> *mut c_void {
    // SAFETY: any size may be asked for.
    unsafe { mimalloc::mi_malloc(as_bytes(asked)) }
}

#[allow(unsafe_code, reason = "called by C")]
unsafe extern "C" fn free(block: *mut c_void) {
    // SAFETY: SQLite frees what `allocate` or `resize` gave, once.
    unsafe { mimalloc::mi_free(block) }
}

#[allow(unsafe_code, reason = "called by C")]
unsafe extern "C" fn resize(block: *mut c_void, asked: c_int) -> *mut c_void {
    // SAFETY: as in `free`; the block is not used any more unless this fails.
    unsafe { mimalloc::mi_realloc(block, as_bytes(asked)) }
}

#[allow(unsafe_code, reason = "called by C")]
unsafe extern "C" fn size(block: *mut c_void) -> c_int {
    // SAFETY: the block is one that `allocate` or `resize` gave.
    as_c_int(unsafe { mimalloc::mi_usable_size(block) })
}

#[allow(unsafe_code, reason = "called by C")]
unsafe extern "C" fn round_up(asked: c_int) -> c_int {
    // SAFETY: it takes a number.
    as_c_int(unsafe { mimalloc::mi_good_size(as_bytes(asked)) })
}

#[allow(unsafe_code, reason = "called by C")]
unsafe extern "C" fn start(_: *mut c_void) -> c_int {
    sqlite::SQLITE_OK
}

#[allow(unsafe_code, reason = "called by C")]
unsafe extern "C" fn stop(_: *mut c_void) {}
