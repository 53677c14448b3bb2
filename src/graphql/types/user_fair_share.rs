use std::sync::Arc;

use async_graphql::{ID, Object};

use super::ShareFacts;
use crate::domain::ids::Member;
use crate::graphql::global_id;
use crate::graphql::scalars::Uuid;
use crate::service::PublishedGroup;
use crate::service::group::published::UserShare;

/// A user in one project of a resource group: decayed usage, factor and rank among all the group's users.
pub struct UserFairShare {
    member: Member,
    user_name: Option<Arc<str>>,
    project_name: Option<Arc<str>>,
    domain_name: Arc<str>,
    facts: ShareFacts,
}

impl UserFairShare {
    pub const KIND: &str = "UserFairShare";

    pub fn new(group: &Arc<PublishedGroup>, row: UserShare) -> Self {
        Self {
            member: row.member,
            user_name: row.user_name,
            project_name: row.project_name,
            domain_name: row.domain_name,
            facts: ShareFacts { group: Arc::clone(group), share: row.share },
        }
    }
}

#[Object(rename_fields = "snake_case")]
impl UserFairShare {
    pub async fn id(&self) -> ID {
        let (user, project) = (self.member.user.to_string(), self.member.project.to_string());
        global_id::encode(Self::KIND, &[&self.facts.group.name, &user, &project])
    }

    async fn user_uuid(&self) -> Uuid {
        Uuid(self.member.user.0)
    }

    /// As the scheduler calls them, if it does.
    async fn user_name(&self) -> Option<&str> {
        self.user_name.as_deref()
    }

    async fn project_id(&self) -> Uuid {
        Uuid(self.member.project.0)
    }

    async fn project_name(&self) -> Option<&str> {
        self.project_name.as_deref()
    }

    async fn domain_name(&self) -> &str {
        &self.domain_name
    }

    #[graphql(flatten)]
    async fn facts(&self) -> &ShareFacts {
        &self.facts
    }
}
