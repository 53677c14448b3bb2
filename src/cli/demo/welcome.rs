//! What a new user sees first.

use std::collections::BTreeSet;

use serde_json::json;

use super::people::{GPU_CLUSTER, PEOPLE, PROJECTS};
use crate::domain::ranking::Placed;
use crate::service::group::published::rows::UserShare;
use crate::service::{Caller, Result, Service};

/// Three requests that can be copied into a shell; ids and the key are real.
pub struct Welcome {
    pub address: String,
    pub key: String,
    /// Where the database is, and what becomes of it.
    pub data: String,
    /// What was made, or found.
    pub origin: String,
    /// True if no kernel starts or ends by itself.
    pub is_still: bool,
}

impl Welcome {
    pub fn text(&self, service: &Service) -> Result<String> {
        let Self { address, key, data, origin, is_still } = self;
        let goes_on = if *is_still {
            "No kernel starts or ends by itself; those that run go on, and the jobs account for them as time passes."
        } else {
            "Kernels start and end, and the jobs account for them as time passes."
        };
        let users: BTreeSet<&str> = PEOPLE.iter().map(|p| p.name).collect();
        let domains: BTreeSet<&str> = PROJECTS.iter().map(|(_, domain)| *domain).collect();
        let curl = format!("curl -s -H 'Authorization: Bearer {key}'");
        let post = format!("{curl} -H 'Content-Type: application/json'");
        let ranking = format!("{curl} '{address}/resource-groups/{GPU_CLUSTER}/fair-share-status?limit=5'");
        let workloads = Self::workloads(service)?;
        let sequence = format!("{post} '{address}/resource-groups/{GPU_CLUSTER}/sequence' -d '{workloads}'");
        let query = format!(
            "{{ user_fair_shares(resource_group: \"{GPU_CLUSTER}\", first: 5, order: {{field: RANK, direction: ASC}}) \
             {{ edges {{ node {{ rank user_name project_name fair_share_factor weight }} }} }} }}"
        );
        let graphql = format!("{post} '{address}/graphql' -d '{}'", json!({"query": query}));
        Ok(format!(
            "Welcome to fairshared. {origin}: {} users, {} projects, {} domains.

  Look     {address}/ui/#key={key}
  Key      {key}
  REST     {address}/docs
  GraphQL  {address}/graphql
  Data     {data}

Who has used least of the GPU cluster, for the share they have?

{ranking}

Three people each want to start a job. Who goes first?

{sequence}

The same ranking, with names, over GraphQL:

{graphql}

{goes_on} Ctrl-C ends the demo.",
            users.len(),
            PROJECTS.len(),
            domains.len(),
        ))
    }

    /// The worst, the middle and the best placed, in this order.
    fn workloads(service: &Service) -> Result<serde_json::Value> {
        let group = service.group(&Caller::internal("demo"), GPU_CLUSTER)?;
        let users = &group.whole()?.rows.users;
        let count = u32::try_from(users.len()).unwrap_or(u32::MAX);
        let places = [count.saturating_sub(1), count / 2, 0];
        let workload = |share: Placed<UserShare>| {
            json!({
                "workload_id": share.user_name.as_deref().map_or("job".to_owned(), |name| format!("job-of-{name}")),
                "user": share.user_name, "project": share.project_name,
            })
        };
        let workloads: Vec<_> = places.iter().filter_map(|at| users.at(*at)).map(workload).collect();
        Ok(json!({"workloads": workloads}))
    }
}
