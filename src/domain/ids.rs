//! Identities. A user is addressed as (user, project), because one user may belong to several projects
//! (FAIR_SHARE §1).

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

macro_rules! uuid_id {
    ($(#[$doc:meta] $name:ident)*) => {$(
        #[$doc]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
        impl FromStr for $name {
            type Err = uuid::Error;
            fn from_str(text: &str) -> Result<Self, uuid::Error> {
                text.parse().map(Self)
            }
        }
    )*};
}

uuid_id! {
    /// One running container or job.
    KernelId
    /// The session (job) that a kernel belongs to.
    SessionId
    /// A person, across projects.
    UserId
    /// A project, in one domain at a time.
    ProjectId
}

/// A user inside one of their projects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Member {
    pub user: UserId,
    pub project: ProjectId,
}

/// The domain, project or user that a bucket or a share belongs to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Owner {
    Domain(Arc<str>),
    Project(ProjectId),
    User(Member),
}
