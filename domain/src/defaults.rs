//! Default values of keys that are absent.

pub const fn default_true() -> bool {
    true
}
