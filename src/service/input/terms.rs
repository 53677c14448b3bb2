//! On which terms an admin writes: why, and on the grounds of which configuration.

/// Why a write is made, and what it goes out from.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    /// For the audit log.
    pub reason: Option<String>,
    /// The `config_revision` of the group that the caller has seen; another one refuses the write.
    pub if_revision: Option<String>,
}

impl From<Option<String>> for Terms {
    fn from(reason: Option<String>) -> Self {
        Self { reason, if_revision: None }
    }
}
