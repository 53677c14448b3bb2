//! The terms of an admin's write: its reason, and the configuration that it is based on.

/// The reason of a write, and the state that it is based on.
#[derive(Clone, Debug, Default)]
pub struct WriteTerms {
    /// For the audit log.
    pub reason: Option<String>,
    /// The `config_revision` of the group that the caller has seen. The write is refused if the present one differs.
    pub if_revision: Option<String>,
}

impl From<Option<String>> for WriteTerms {
    fn from(reason: Option<String>) -> Self {
        Self { reason, if_revision: None }
    }
}
