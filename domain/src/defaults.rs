//! What a key means that is not said.

pub const fn yes() -> bool {
    true
}
