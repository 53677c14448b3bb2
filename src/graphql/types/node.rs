use async_graphql::{ID, Interface};

use super::{
    Agent, AuditEntry, DomainFairShare, DomainUsageBucketNode, FairShareWeightNode, JobRun, ProjectFairShare,
    ProjectUsageBucketNode, Queue, ScalingGroup, UserFairShare, UserUsageBucketNode,
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
}
