//! Keys of a body that changes what is there.

use crate::service::{Error, Result};

/// Refuses a body that is about something else than its path.
pub fn same<T: PartialEq + std::fmt::Display + ?Sized>(pointer: &str, told: Option<&T>, path: &T) -> Result<()> {
    match told {
        Some(told) if told != path => {
            let detail = format!("the path is about {path}, and the body about {told}");
            Err(Error::invalid(pointer, "contradiction", detail))
        }
        _ => Ok(()),
    }
}
