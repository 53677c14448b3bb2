//! Explains the place of a domain, a project or a user (FAIR_SHARE §12), from one snapshot.

pub mod answer;
mod explained_row;
mod page;
mod standing;
mod tree_position;
mod unrecorded;

use std::sync::Arc;

use self::answer::{Explanation, WaitingReason, WaitingWorkload};
use self::explained_row::{ExplainedRow, requested_row, subject};
use self::page::ExplanationData;
use super::audit_log::ChangeAuthor;
use super::people::RequestNames;
use super::sequence::ExplainedWorkload;
use super::sequence::waiting::PendingEntry;
use super::{Caller, Error, Result, Service};
use crate::domain::bucket::Bucket;
use crate::domain::explain::count::OwnerContributions;
use crate::domain::ids::Owner;
use crate::domain::tier::Tier;
use crate::domain::time::Day;
use crate::engine::audit::label;
use crate::service::visible_group::VisibleGroup;
use crate::store;

/// The input of an explanation. Users and projects are named by UUID or by name.
#[derive(Clone, Debug, Default)]
pub struct ExplainInput {
    /// `None` stands for the lowest tier that is named.
    pub tier: Option<Tier>,
    pub domain: Option<String>,
    pub project: Option<String>,
    pub user: Option<String>,
    /// A workload of one of the last sequences of the group, or a reported one.
    pub workload: Option<String>,
    /// A place for which the answer contains the weight that leads there.
    pub place: Option<i64>,
}

/// The number of times that an explanation is read again because a run came between its reads.
const MAX_TRIES: usize = 5;

fn waiting_workload(entry: PendingEntry) -> WaitingWorkload {
    let PendingEntry { workload_id, sequenced_at, mode, place, of, waiting, latest_first, .. } = entry;
    let reason = |(_, explained): (u64, ExplainedWorkload)| WaitingReason::of(explained.decision, latest_first);
    WaitingWorkload {
        workload_id,
        sequenced_at,
        mode: mode.as_str(),
        position: place.map(|(position, _)| position),
        of,
        ahead: place.map(|(position, _)| position - 1),
        owners_ahead: place.map(|(_, explained)| explained.owners_ahead),
        reason: place.map(reason),
        waiting,
    }
}

impl Service {
    /// Explains the place of one domain, project or user. Keys of users may ask about their own users.
    #[tracing::instrument(
        name = "service.explain.explain",
        level = "debug",
        skip_all,
        fields(group),
        err(level = "debug")
    )]
    pub async fn explain(self: &Arc<Self>, caller: &Caller, group: &str, input: ExplainInput) -> Result<Explanation> {
        let mut called = RequestNames::by(caller);
        called.user("", "user", input.user.as_deref());
        called.project("", "project", input.project.as_deref());
        let explained = self.explanation(caller, group, input).await;
        explained.map_err(|error| called.with_given_names(error, &self.people()))
    }

    async fn explanation(self: &Arc<Self>, caller: &Caller, group: &str, input: ExplainInput) -> Result<Explanation> {
        let mut visible = self.group(caller, group)?;
        let waiting = match &input.workload {
            Some(id) => Some(self.waiting(&visible, id).await?),
            None => None,
        };
        let asked = requested_row(self, &visible, &input, waiting.as_ref().map(|waiting| waiting.owner))?;
        for _ in 0..MAX_TRIES {
            let subject = subject(self, &visible, &asked, input.domain.as_deref(), waiting.as_ref()).await?;
            let recount = self.recount(&visible, &subject).await?;
            // Buckets are read from the database, where a run may just have changed them.
            if recount.normalized_usage.to_bits() == subject.share().history.normalized_usage.to_bits() {
                let workload = waiting.map(waiting_workload);
                return self.assemble(visible, subject, recount, input.place, workload).await;
            }
            self.refresh().await?;
            visible = self.group(caller, group)?;
        }
        Err(Error::unavailable("usage is being recorded; try again"))
    }

    async fn recount(&self, group: &VisibleGroup, subject: &ExplainedRow) -> Result<OwnerContributions> {
        let scale = group.scale(self.clock().now());
        let from = scale.options.window_start(scale.today);
        let buckets =
            store::buckets::of_owner(&self.reads_for(group.access().client()), &group.name, &subject.owner(), from)
                .await?;
        Ok(scale.recount(buckets))
    }

    /// True if the look-back has no usage of the owner, and earlier days have. It is read only where the summary needs it.
    async fn has_older_usage(
        &self,
        group: &VisibleGroup,
        subject: &ExplainedRow,
        recount: &OwnerContributions,
    ) -> Result<bool> {
        let is_used = |bucket: &Bucket| bucket.usage.iter().any(|(_, usage)| !usage.is_zero());
        if recount.buckets.iter().any(|(bucket, _)| is_used(bucket)) {
            return Ok(false);
        }
        let all =
            store::buckets::of_owner(&self.reads_for(group.access().client()), &group.name, &subject.owner(), Day::MIN)
                .await?;
        Ok(all.iter().any(is_used))
    }

    async fn assemble(
        &self,
        group: VisibleGroup,
        subject: ExplainedRow,
        recount: OwnerContributions,
        place: Option<i64>,
        workload: Option<WaitingWorkload>,
    ) -> Result<Explanation> {
        let normalized_days = self.engine.load_normalized_days(self.store().read(), group.facts()).await?.clone();
        let origins = self.origins(&group, &subject).await?;
        let has_older_usage = self.has_older_usage(&group, &subject, &recount).await?;
        let now = self.trusted_now();
        let work = || {
            ExplanationData {
                group: &group,
                subject: &subject,
                recount,
                has_older_usage,
                normalized_days,
                origins,
                now,
            }
            .write(place, workload)
        };
        self.permits.run(group.access().client(), work).await
    }

    /// The authors of the weights of the domain, the project and the user, where a weight is set.
    async fn origins(&self, group: &VisibleGroup, subject: &ExplainedRow) -> Result<[Option<ChangeAuthor>; 3]> {
        let rows = &group.facts().rows;
        let domain = rows.domain(subject.domain()).filter(|_| subject.tier() != Tier::Project);
        let project = subject.project().and_then(|id| rows.project(id));
        let own = matches!(subject, ExplainedRow::User(_)).then(|| subject.owner());
        let set = [
            domain.filter(|row| row.share.weight.is_some()).map(|row| Owner::Domain(Arc::clone(&row.domain_name))),
            project.filter(|row| row.share.weight.is_some()).map(|row| Owner::Project(row.project_id)),
            own.filter(|_| subject.share().weight.is_some()),
        ];
        let labels = set.map(|owner| owner.as_ref().map(label));
        let named: Vec<String> = labels.iter().flatten().cloned().collect();
        let mut authors = self.last_changes(group, &named).await?;
        Ok(labels.map(|label| authors.remove(&label?)))
    }
}
