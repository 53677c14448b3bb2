//! The mutations. Each is one transaction, and takes effect at once.

use std::sync::Arc;

use async_graphql::{Context, ID, MaybeUndefined, MergedObject, Object, Result};

use super::group_mutation::GroupMutation;
use super::inputs::{
    FairShareWeightInput, FairShareWeightsBulkInput, WeightItems, read_options, read_target, relocate_faults,
    relocate_warnings,
};
use super::orders::FairShareTargetType;
use super::query::{caller, operations, service};
use super::queue_input::{QueueInput, read_queues};
use super::response_warnings::ResponseWarnings;
use super::scalars::{DateTime, Decimal, JsonString, Uuid};
use super::types::{
    ApiKey, AuditEntry, CreatedKey, Domain, DomainFairShare, JobRun, KeyRole, Project, ProjectFairShare, ScalingGroup,
    UpsertFairShareWeightsResult, UpsertQueuesResult, User, UserFairShare, input_warnings, weight_rows,
};
use crate::domain::ids::UserId;
use crate::engine::people::lookup;
use crate::service::groups::SchedulerPatch;
use crate::service::input::terms::WriteTerms;
use crate::service::keys::NewKey;
use crate::service::people::{DomainChange, KeyUpdate, ProjectChange, UserChange};
use crate::service::queues::QueuesWrite;
use crate::service::weights::{WeightTarget, WeightsChanged};
use crate::service::{Error, Result as ServiceResult};

/// Writes weights. Faults point to the places of the items in the request.
async fn write(
    ctx: &Context<'_>,
    resource_group: String,
    items: WeightItems,
    terms: impl Into<WriteTerms>,
) -> ServiceResult<WeightsChanged> {
    // A caller who may not write must not learn anything about the items.
    caller(ctx)?.require_admin()?;
    let (items, places) = items.finish()?;
    let written = service(ctx)?.put_weights(caller(ctx)?.clone(), resource_group, items, terms).await;
    let written = written.map_err(|e| relocate_faults(e, &places))?;
    Ok(WeightsChanged { warnings: relocate_warnings(written.warnings, &places), ..written })
}

fn text(weight: MaybeUndefined<Decimal>) -> MaybeUndefined<String> {
    weight.map_value(|w| w.0)
}

fn set<T>(value: MaybeUndefined<T>) -> KeyUpdate<T> {
    match value {
        MaybeUndefined::Undefined => KeyUpdate::Keep,
        MaybeUndefined::Null => KeyUpdate::Clear,
        MaybeUndefined::Value(value) => KeyUpdate::To(value),
    }
}

fn vanished_row(what: &str) -> Error {
    Error::Conflict { code: "concurrent_change", detail: format!("the {what} was just removed by another request") }
}

/// Everything that can be written. The mutations of one request run one after the other.
#[derive(MergedObject, Default)]
pub struct Mutation(PolicyMutation, GroupMutation);

/// Writes of weights, options, queues, people and keys.
#[derive(Default)]
pub struct PolicyMutation;

#[Object(rename_fields = "snake_case", rename_args = "snake_case")]
impl PolicyMutation {
    /// Sets the weight of a domain; null unsets it, so that the group's default applies.
    async fn upsert_domain_fair_share(
        &self,
        ctx: &Context<'_>,
        resource_group: String,
        domain_name: String,
        weight: MaybeUndefined<Decimal>,
        reason: Option<String>,
    ) -> Result<DomainFairShare> {
        let mut items = WeightItems::default();
        items.add("", WeightTarget::Domain(domain_name.clone()), text(weight));
        let changed = write(ctx, resource_group, items, reason).await?;
        let row = service(ctx)?.domain_share(&changed.group, &domain_name).await?;
        Ok(DomainFairShare::new(&changed.group, row.ok_or_else(|| vanished_row("domain"))?))
    }

    /// Sets the weight of a project; null unsets it, so that the group's default applies.
    async fn upsert_project_fair_share(
        &self,
        ctx: &Context<'_>,
        resource_group: String,
        project_id: Uuid,
        weight: MaybeUndefined<Decimal>,
        reason: Option<String>,
    ) -> Result<ProjectFairShare> {
        let id = service(ctx)?.people().project_of_uuid(project_id.0);
        let mut items = WeightItems::default();
        items.add("", WeightTarget::Project(id), text(weight));
        let changed = write(ctx, resource_group, items, reason).await?;
        let row = service(ctx)?.project_share(&changed.group, id).await?;
        Ok(ProjectFairShare::new(&changed.group, row.ok_or_else(|| vanished_row("project"))?))
    }

    /// Sets the weight of a user in one project; null unsets it, so that the group's default applies.
    async fn upsert_user_fair_share(
        &self,
        ctx: &Context<'_>,
        resource_group: String,
        user_uuid: Uuid,
        project_id: Uuid,
        weight: MaybeUndefined<Decimal>,
        reason: Option<String>,
    ) -> Result<UserFairShare> {
        let member = service(ctx)?.people().member_of_uuids(user_uuid.0, project_id.0);
        let mut items = WeightItems::default();
        items.add("", WeightTarget::User(member.user, Some(member.project)), text(weight));
        let changed = write(ctx, resource_group, items, reason).await?;
        let row = service(ctx)?.user_share(&changed.group, member).await?;
        Ok(UserFairShare::new(&changed.group, row.ok_or_else(|| vanished_row("user"))?))
    }

    /// Unsets a weight, so that the group's default applies. A user's is unset in all projects unless
    /// one is named. Likely mistakes are `warnings` in the `extensions` of the response.
    async fn reset_fair_share_weight(
        &self,
        ctx: &Context<'_>,
        resource_group: String,
        target_type: FairShareTargetType,
        target_id: String,
        project_id: Option<Uuid>,
        reason: Option<String>,
    ) -> Result<bool> {
        caller(ctx)?.require_admin()?;
        let target = read_target(&service(ctx)?.people(), target_type.into(), &target_id, project_id);
        let target = target.map_err(|fault| Error::Invalid(vec![fault]))?;
        let mut items = WeightItems::default();
        items.add_by_id("", target, MaybeUndefined::Null);
        let changed = write(ctx, resource_group, items, reason).await?;
        ResponseWarnings::add(ctx, changed.warnings)?;
        Ok(true)
    }

    /// Sets and unsets many weights, all or none: `items`, or the same by kind as `input`, or both. Refused where the group has
    /// another `config_revision` than `if_revision`.
    async fn upsert_fair_share_weights(
        &self,
        ctx: &Context<'_>,
        resource_group: String,
        items: Option<Vec<FairShareWeightInput>>,
        input: Option<FairShareWeightsBulkInput>,
        reason: Option<String>,
        if_revision: Option<String>,
    ) -> Result<UpsertFairShareWeightsResult> {
        caller(ctx)?.require_admin()?;
        if items.is_none() && input.is_none() {
            return Err(Error::about(
                "/items",
                "missing_items",
                "is missing, and so is `input`: give one of them or both",
            )
            .into());
        }
        let mut all = WeightItems::default();
        {
            let people = service(ctx)?.people();
            all.add_listed(&people, items.unwrap_or_default());
            if let Some(input) = input {
                all.add_bulk(&people, input);
            }
        }
        let changed = write(ctx, resource_group, all, WriteTerms { reason, if_revision }).await?;
        Ok(UpsertFairShareWeightsResult {
            upserted_count: changed.upserted,
            deleted_count: changed.deleted,
            affected_weights: weight_rows(&changed.group, changed.affected),
            warnings: input_warnings(changed.warnings),
        })
    }

    /// Chooses a group's scheduler and merges options into those that are set; a null option goes back
    /// to its default. Refused where the group has another `config_revision` than `if_revision`.
    async fn update_scheduler_options(
        &self,
        ctx: &Context<'_>,
        resource_group: String,
        scheduler: Option<String>,
        scheduler_opts: Option<JsonString>,
        reason: Option<String>,
        if_revision: Option<String>,
    ) -> Result<ScalingGroup> {
        let scheduler_opts = read_options(scheduler_opts)?;
        let patch = SchedulerPatch { scheduler, scheduler_opts, reason, if_match: None, if_revision };
        let group = service(ctx)?.patch_scheduler_options(caller(ctx)?.clone(), resource_group, patch).await?;
        Ok(ScalingGroup(group))
    }

    /// Makes the changes of a simulation (weights, options and domains of projects) in one transaction, and answers what they
    /// do; the shapes are those of `POST /resource-groups/{rg}/fair-share-simulations` with `apply`.
    async fn apply_fair_share_simulation(
        &self,
        ctx: &Context<'_>,
        resource_group: String,
        input: JsonString,
    ) -> Result<JsonString> {
        let JsonString(mut input) = input;
        if let Some(keys) = input.as_object_mut() {
            keys.insert("apply".to_owned(), true.into());
        }
        let document = input.to_string().into();
        let made = service(ctx)?.simulate_fair_shares(caller(ctx)?.clone(), resource_group, document).await?;
        Ok(JsonString::of(&made.into_answer()))
    }

    /// Makes the weights, options, queues and domains of projects that a change has set as they were before it, all or nothing.
    /// The change is named by its id, or by the number that it has in REST. Answers the entry of the undo; likely mistakes are
    /// `warnings` in the `extensions` of the response.
    async fn undo_change(&self, ctx: &Context<'_>, id: ID, reason: Option<String>) -> Result<AuditEntry> {
        let undone = service(ctx)?.undo(caller(ctx)?.clone(), AuditEntry::number(&id)?, reason).await?;
        ResponseWarnings::add(ctx, undone.warnings)?;
        let entries = service(ctx)?.audit_entries(caller(ctx)?, [undone.audit_id]).await?;
        Ok(AuditEntry(entries.into_iter().next().ok_or_else(|| vanished_row("entry"))?))
    }

    /// Creates and replaces queues, all or none; with `prune` the queues that are not named go. Refused where the group has
    /// another `config_revision` than `if_revision`.
    async fn upsert_queues(
        &self,
        ctx: &Context<'_>,
        resource_group: String,
        queues: Vec<QueueInput>,
        #[graphql(default)] prune: bool,
        reason: Option<String>,
        if_revision: Option<String>,
    ) -> Result<UpsertQueuesResult> {
        // A caller who may not write must not learn anything about the queues.
        caller(ctx)?.require_admin()?;
        let write = QueuesWrite { queues: read_queues(queues)?, prune, reason, if_revision };
        let group = Arc::clone(&service(ctx)?.group(caller(ctx)?, &resource_group)?.name);
        let changed = service(ctx)?.put_queues(caller(ctx)?.clone(), resource_group, write).await?;
        Ok(UpsertQueuesResult::new(&group, changed))
    }

    /// Removes a queue that has no children. Refused where the group has another `config_revision` than `if_revision`.
    async fn delete_queue(
        &self,
        ctx: &Context<'_>,
        resource_group: String,
        name: String,
        reason: Option<String>,
        if_revision: Option<String>,
    ) -> Result<bool> {
        let terms = WriteTerms { reason, if_revision };
        service(ctx)?.delete_queue(caller(ctx)?.clone(), resource_group, name, terms).await?;
        Ok(true)
    }

    /// Creates a domain, or changes it: arguments that are left out stay as they are, null takes a value away.
    async fn upsert_domain(
        &self,
        ctx: &Context<'_>,
        name: String,
        display_name: MaybeUndefined<String>,
        archived: Option<bool>,
        reason: Option<String>,
    ) -> Result<Domain> {
        let change = DomainChange { display_name: set(display_name), archived, reason };
        let (row, _) = service(ctx)?.put_domain(caller(ctx)?.clone(), name, change).await?;
        Ok(Domain(row))
    }

    /// Creates a project, or changes it: arguments that are left out stay as they are, null takes a value away. A domain that
    /// is given is where the project stays, unless `domain_pinned` is false; with null reports may move it again.
    #[expect(clippy::too_many_arguments, reason = "what a project has")]
    async fn upsert_project(
        &self,
        ctx: &Context<'_>,
        project_id: Uuid,
        name: MaybeUndefined<String>,
        display_name: MaybeUndefined<String>,
        domain_name: MaybeUndefined<String>,
        domain_pinned: Option<bool>,
        archived: Option<bool>,
        reason: Option<String>,
    ) -> Result<Project> {
        let (name, display_name, domain_name) = (set(name), set(display_name), set(domain_name));
        let change = ProjectChange { name, display_name, domain_name, domain_pinned, archived, reason };
        let id = service(ctx)?.people().project_of_uuid(project_id.0);
        let (row, _) = service(ctx)?.put_project(caller(ctx)?.clone(), id, change).await?;
        Ok(Project(row))
    }

    /// Creates a user, or changes them: arguments that are left out stay as they are, null takes a value away.
    async fn upsert_user(
        &self,
        ctx: &Context<'_>,
        user_uuid: Uuid,
        name: MaybeUndefined<String>,
        display_name: MaybeUndefined<String>,
        archived: Option<bool>,
        reason: Option<String>,
    ) -> Result<User> {
        let change = UserChange { name: set(name), display_name: set(display_name), archived, reason };
        let id = service(ctx)?.people().user_of_uuid(user_uuid.0);
        let (row, _) = service(ctx)?.put_user(caller(ctx)?.clone(), id, change).await?;
        Ok(User(row))
    }

    /// Makes an API key and shows it once. A key of the role USER is for one user, by id or by name.
    #[expect(clippy::too_many_arguments, reason = "what a key has")]
    async fn create_key(
        &self,
        ctx: &Context<'_>,
        role: KeyRole,
        label: String,
        user_uuid: Option<Uuid>,
        user: Option<String>,
        expires_at: Option<DateTime>,
        resource_groups: Option<Vec<String>>,
    ) -> Result<CreatedKey> {
        // A caller who may not write must not learn anything about names.
        caller(ctx)?.require_admin()?;
        let user = lookup::some_user(&service(ctx)?.people(), user_uuid.map(|id| UserId(id.0)), user.as_deref());
        let user = user.map_err(|fault| Error::Invalid(vec![fault]))?;
        let expires_at = expires_at.map(|at| at.0);
        let new = NewKey { role: role.into(), label, user, expires_at, groups: resource_groups };
        let (key, row) = service(ctx)?.create_key(caller(ctx)?.clone(), new).await?;
        Ok(CreatedKey { key, row: ApiKey::new(row, &service(ctx)?.people()) })
    }

    /// Revokes an API key, and ends the sessions that were opened with it. The last valid admin key that reaches all resource
    /// groups is revoked only with `force`, because no request can make a key without it.
    async fn revoke_key(&self, ctx: &Context<'_>, id: Uuid, #[graphql(default)] force: bool) -> Result<bool> {
        service(ctx)?.revoke_key(caller(ctx)?.clone(), id.0, force).await?;
        Ok(true)
    }

    /// Runs a job now and waits for its end.
    async fn run_job(&self, ctx: &Context<'_>, name: String, resource_group: Option<String>) -> Result<Vec<JobRun>> {
        let jobs = Arc::clone(operations::jobs(ctx)?);
        let runs = service(ctx)?.run_job(caller(ctx)?, jobs, name, resource_group).await?;
        Ok(runs.into_iter().map(JobRun).collect())
    }
}
