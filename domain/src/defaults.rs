//! Default values of keys that are absent.

pub const fn yes() -> bool {
    true
}
