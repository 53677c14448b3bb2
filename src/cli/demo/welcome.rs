//! The message that a new user sees first.

use std::collections::BTreeSet;

use serde_json::json;

use super::people::{GPU_CLUSTER, PEOPLE, PROJECTS};

/// The page, the key, and three requests that can be copied into a shell.
pub struct WelcomeText {
    pub address: String,
    pub key: String,
    /// The path of the database, and what happens to it.
    pub data: String,
    /// The origin of the data: created or found.
    pub origin: String,
    /// True if no kernels start or end by themselves.
    pub is_still: bool,
}

impl WelcomeText {
    pub fn text(&self) -> String {
        let Self { address, key, data, origin, is_still } = self;
        let has_more_steps = if *is_still {
            "No kernel starts or ends by itself; those that run go on, and the jobs account for them as time passes."
        } else {
            "Kernels start and end, and the jobs account for them as time passes."
        };
        let users: BTreeSet<&str> = PEOPLE.iter().map(|p| p.name).collect();
        let domains: BTreeSet<&str> = PROJECTS.iter().map(|(_, domain)| *domain).collect();
        let curl = "curl -s -H \"Authorization: Bearer $KEY\"";
        let post = format!("{curl} -H 'Content-Type: application/json'");
        let group = format!("\"$URL/resource-groups/{GPU_CLUSTER}");
        let fairness = format!("{curl} {group}/fairness?window=now&tier=domain\"");
        let workload = |user: &str, project: &str| json!({"workload_id": format!("job-of-{user}"), "user": user, "project": project});
        let three = [workload("amelia", "vision"), workload("niko", "theses"), workload("yara", "forecasting")];
        let workloads = json!({"workloads": three});
        let sequence = format!("{post} {group}/sequence\" -d '{workloads}'");
        let query = format!(
            "{{ user_fair_shares(resource_group: \"{GPU_CLUSTER}\", first: 5, order: {{field: RANK, direction: ASC}}) \
             {{ edges {{ node {{ rank user_name project_name fair_share_factor weight }} }} }} }}"
        );
        let graphql = format!("{post} \"$URL/graphql\" -d '{}'", json!({"query": query}));
        format!(
            "Welcome to fairshared. {origin}: {} users, {} projects, {} domains.

  Look     {address}/ui/{GPU_CLUSTER}/overview#key={key}
  REST     {address}/docs
  GraphQL  {address}/graphql
  Data     {data}

The GPU cluster is full, and over weeks each domain received its share. One thing is wrong today: find it. For another shell:

export URL={address} KEY={key}

Which domain receives less than its weight entitles it to now?

{fairness}

Three people each want to start a job. Who goes first?

{sequence}

The ranking of users, over GraphQL:

{graphql}

{has_more_steps} Ctrl-C ends the demo.",
            users.len(),
            PROJECTS.len(),
            domains.len(),
        )
    }
}
