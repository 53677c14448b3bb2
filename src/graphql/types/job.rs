//! Jobs as GraphQL shows them.

use async_graphql::SimpleObject;

use super::JobRun;

/// Something that the service does on its own, and on request.
#[derive(SimpleObject)]
#[graphql(rename_fields = "snake_case")]
pub struct Job {
    pub name: &'static str,
    pub description: &'static str,
    /// The last run for each resource group, and for none.
    pub last_runs: Vec<JobRun>,
}
