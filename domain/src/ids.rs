//! Identities. A user is addressed as (user, project), because one user may belong to several projects
//! (FAIR_SHARE §1).

use std::fmt;
use std::ops::Range;
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

/// The number of bits of a kernel's key that are its number in its group.
const KERNEL_BITS: u32 = 40;

/// The short number of a resource group, by which the database refers to its kernels and records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GroupKey(pub i32);

impl GroupKey {
    /// The key of the group's kernel with that number.
    pub fn kernel(self, number: i64) -> KernelKey {
        KernelKey(self.first_kernel() + number)
    }

    /// The range of the keys of all its kernels.
    pub fn kernels(self) -> Range<i64> {
        self.first_kernel()..Self(self.0.saturating_add(1)).first_kernel()
    }

    fn first_kernel(self) -> i64 {
        i64::from(self.0) << KERNEL_BITS
    }
}

/// The short number of a kernel. Within a group, a kernel that became known later has a larger number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KernelKey(pub i64);

impl KernelKey {
    /// The key without the group in its upper bits.
    pub fn in_group(self) -> i64 {
        self.0 & ((1 << KERNEL_BITS) - 1)
    }
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

impl Owner {
    /// The member; `None` for domains and projects.
    pub fn member(&self) -> Option<Member> {
        match self {
            Self::User(member) => Some(*member),
            Self::Domain(_) | Self::Project(_) => None,
        }
    }
}
