//! The types whose rows `node(id)` finds.

use async_graphql::{ID, Interface};

use super::{
    Agent, AuditEntry, Domain, DomainFairShare, DomainUsageBucketNode, FairShareWeightNode, JobRun, Project,
    ProjectFairShare, ProjectUsageBucketNode, Queue, ScalingGroup, User, UserFairShare, UserUsageBucketNode,
};

/// Anything that `node(id)` finds again.
#[derive(Interface)]
#[graphql(field(name = "id", ty = "ID", desc = "Opaque, and unique over all types."))]
pub enum Node {
    DomainFairShare(DomainFairShare),
    ProjectFairShare(ProjectFairShare),
    UserFairShare(UserFairShare),
    FairShareWeight(FairShareWeightNode),
    DomainUsageBucket(DomainUsageBucketNode),
    ProjectUsageBucket(ProjectUsageBucketNode),
    UserUsageBucket(UserUsageBucketNode),
    ScalingGroup(ScalingGroup),
    Agent(Agent),
    Queue(Queue),
    JobRun(JobRun),
    AuditEntry(AuditEntry),
    Domain(Domain),
    Project(Project),
    User(User),
}
