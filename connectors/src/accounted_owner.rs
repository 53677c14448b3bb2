//! The owner that the usage of a job counts for.

use domain::names::{UNKNOWN_DOMAIN, check_label, check_name};
use serde::{Deserialize, Serialize};

/// The name that counts for a user, a project or a domain that the job does not name, or whose name the server does not take.
const UNKNOWN_NAME: &str = UNKNOWN_DOMAIN;

/// The owner that the usage of a job counts for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AccountedOwner {
    pub user: String,
    pub project: String,
    pub domain: String,
}

impl AccountedOwner {
    /// The owner of these names. A name that the server does not take counts as unknown, so that the usage is not lost.
    pub fn with_usable_names(user: &str, project: &str, domain: &str) -> Self {
        let or_unknown = |name: &str, is_usable: bool| if is_usable { name } else { UNKNOWN_NAME }.to_owned();
        Self {
            user: or_unknown(user, check_label(user).is_ok()),
            project: or_unknown(project, check_label(project).is_ok()),
            domain: or_unknown(domain, check_name(domain).is_ok()),
        }
    }
}
