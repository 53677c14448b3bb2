//! The roles of principals.

/// The rights of a principal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Everything.
    Admin,
    /// Ingest, sequence, reclaim plans, read.
    Scheduler,
    /// Ingest, sequence, rounds of a connector, agents, the tree of people.
    Connector,
    /// Read.
    Viewer,
    /// Read one user's own rows.
    User,
}

impl Role {
    pub const ALL: [Self; 5] = [Self::Admin, Self::Scheduler, Self::Connector, Self::Viewer, Self::User];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Scheduler => "scheduler",
            Self::Connector => "connector",
            Self::Viewer => "viewer",
            Self::User => "user",
        }
    }

    /// The rights of the role, in one sentence.
    pub fn summary(self) -> &'static str {
        match self {
            Self::Admin => "May do everything.",
            Self::Scheduler => "May report, ask for orders and plans, and read everything.",
            Self::Connector => {
                "May report, ask for orders, set agents and bring the tree of people, in the resource groups of its key."
            }
            Self::Viewer => "May read everything.",
            Self::User => "May read one user's own rows.",
        }
    }

    /// True for a role that neither changes nor reports anything.
    pub fn is_read_only(self) -> bool {
        matches!(self, Self::Viewer | Self::User)
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|r| r.as_str() == text)
    }
}
