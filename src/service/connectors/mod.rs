//! Connectors of other schedulers (FAIR_SHARE §13): the reports of their rounds, and what the rounds add to shadow reports.
//!
//! A round asks for a sequence with the order that the scheduler has now, and reports its outcome at its end. The answer to the
//! sequence has the agreement of both orders. It must not wait for the database, so that the comparison stays in the memory of
//! the process. The report of the round stores it: the last comparison of the group, and the sums of the day, in the same
//! transaction as the round itself. A round that was acknowledged is therefore stored, and one that was not changes nothing.
//!
//! Invariants:
//! - A comparison is added to the sums once, even if the report is sent again, because the connector's row has the id of the last
//!   one that was added.
//! - A comparison belongs to the round of the key that has asked for it, in the same group and with the same counts, and is not
//!   older than the last round of the connector. One that another client has asked for is never added.
//! - A connector is a cluster in a resource group. Two groups may each have a cluster of the same name, so that no key of one group
//!   can take or block a name of another one.

pub mod memory;
mod report_checks;
pub mod shadow_report;

use std::sync::Arc;

use serde_json::{Value, json};

use self::memory::RememberedComparison;
use self::report_checks::check_report;
use super::sequence::agreement::{OrderComparison, OwnerGain};
use super::{Caller, Error, Result, Service};
use crate::api::connector_round::{ConnectorReport, ConnectorRound, ConnectorStatus};
use crate::api::input_warning::InputWarning;
use crate::engine::audit::{self, AuditedChange};
use crate::engine::work::run_to_completion;
use crate::service::visible_group::VisibleGroup;
use crate::store::connectors::StoredConnector;
use crate::store::shadow_reports::{ShadowComparison, ShadowOwnerDay};
use crate::store::{self, StoreError, Tx};

/// The largest number of connectors of a resource group.
const MAX_CONNECTORS: u64 = 1_000;

impl TryFrom<StoredConnector> for ConnectorStatus {
    type Error = Error;
    fn try_from(row: StoredConnector) -> Result<Self> {
        let last = serde_json::from_str(&row.last_round);
        let last = last.map_err(|error| Error::failed("the last round of a connector cannot be read", error))?;
        Ok(Self {
            cluster: row.cluster,
            kind: row.kind,
            version: row.version,
            mode: row.mode,
            resource_group: row.resource_group,
            last_round_at: row.last_round_at,
            last,
        })
    }
}

/// The result of a report.
#[derive(Clone, Debug)]
pub struct StoredRound {
    pub connector: ConnectorStatus,
    /// True for the first round of a connector.
    pub is_new: bool,
    /// Probable mistakes in the report.
    pub warnings: Vec<InputWarning>,
}

impl Service {
    /// The connectors of the groups that the caller's key reaches, by cluster and group.
    #[tracing::instrument(name = "service.connectors.connectors", level = "debug", skip_all, err(level = "debug"))]
    pub async fn connectors(&self, caller: &Caller) -> Result<Vec<ConnectorStatus>> {
        caller.require_reader()?;
        let rows =
            store::connectors::list(&self.reads_for(caller.client()), caller.principal.groups.as_deref()).await?;
        let mut connectors = rows.into_iter().map(ConnectorStatus::try_from).collect::<Result<Vec<_>>>()?;
        // By bytes, as cursors compare names: the order of the database may be different.
        connectors.sort_by(|a, b| (&a.cluster, &a.resource_group).cmp(&(&b.cluster, &b.resource_group)));
        Ok(connectors)
    }

    /// Stores the report of a round, with the comparison of orders that the round has made.
    #[tracing::instrument(name = "service.connectors.put_round", level = "debug", skip_all, err(level = "debug"))]
    pub async fn put_round(
        self: &Arc<Self>,
        caller: Caller,
        cluster: String,
        report: ConnectorReport,
    ) -> Result<StoredRound> {
        caller.require_reporter()?;
        check_report(&report, &cluster)?;
        let group = self.group(&caller, &report.resource_group)?;
        let service = Arc::clone(self);
        run_to_completion(async move { service.store_round(&caller, &group, cluster, report).await }).await
    }

    async fn store_round(
        &self,
        caller: &Caller,
        group: &VisibleGroup,
        cluster: String,
        report: ConnectorReport,
    ) -> Result<StoredRound> {
        let now = self.trusted_now();
        let tx = self.store().begin().await?;
        // If the group is deleted at the same time, either the deletion finds these rows, or this write does not find the group.
        // The lock also keeps two reports of one group apart, so that no comparison is added twice.
        if !store::groups::prevent_deletion(&tx, &group.name).await? {
            return Err(Error::unknown_group(&group.name));
        }
        let known = store::connectors::find(&tx, &group.name, &cluster).await?;
        if known.is_none() {
            refuse_too_many(&tx, group).await?;
        }
        let (kind, version, mode) = (report.kind, report.version.clone(), report.mode);
        let round = report.into_round();
        let last_round = serde_json::to_string(&round).map_err(|e| Error::failed("a round was not written", e))?;
        // It is claimed while the group's row is locked. A report that waits for the lock then finds another one or none.
        let claimed = self.claim_comparison(caller, group, known.as_ref(), &round);
        let row = StoredConnector {
            cluster,
            resource_group: group.name.to_string(),
            kind,
            version,
            mode,
            last_round_at: now,
            last_round,
            comparison: claimed.as_ref().map(|claimed| claimed.id).or_else(|| known.as_ref()?.comparison),
        };
        if let Err(error) = write_round(&tx, caller, group, known.as_ref(), &row, claimed.as_ref()).await {
            // Nothing was stored. After a failed commit this is not certain, and the comparison stays claimed: it is rather lost
            // than counted twice.
            if let Some(claimed) = claimed {
                self.comparisons.give_back(claimed.id);
            }
            return Err(error);
        }
        tx.commit().await.map_err(StoreError::from)?;
        let warnings = (round.compared > 0 && claimed.is_none()).then(missing_comparison).into_iter().collect();
        Ok(StoredRound { connector: row.try_into()?, is_new: known.is_none(), warnings })
    }

    /// Claims the comparison of a round; `None` if no comparison belongs to the round, or if it was added before.
    fn claim_comparison(
        &self,
        caller: &Caller,
        group: &VisibleGroup,
        known: Option<&StoredConnector>,
        round: &ConnectorRound,
    ) -> Option<RememberedComparison> {
        let is_of_round = |comparison: &OrderComparison| {
            let agreement = comparison.agreement;
            agreement.compared > 0
                && (agreement.compared, agreement.same_place) == (round.compared as usize, round.same_place as usize)
        };
        let (counted, since) = (known.and_then(|known| known.comparison), known.map(|known| known.last_round_at));
        self.comparisons.claim_newer((group.key, caller.client()), counted, since, is_of_round)
    }

    /// Forgets a connector. `group` may be absent if one group alone has a cluster of the name. With the last connector of a group goes
    /// its shadow report, which has the sums of all of them.
    #[tracing::instrument(
        name = "service.connectors.delete_connector",
        level = "debug",
        skip_all,
        err(level = "debug")
    )]
    pub async fn delete_connector(
        self: &Arc<Self>,
        caller: Caller,
        cluster: String,
        group: Option<String>,
        reason: Option<String>,
    ) -> Result<()> {
        caller.require_admin()?;
        let group = match group {
            Some(group) => group,
            None => self.only_group_of(&caller, &cluster).await?,
        };
        let group = self.group(&caller, &group)?;
        let service = Arc::clone(self);
        run_to_completion(async move { service.forget_connector(&caller, &group, cluster, reason).await }).await
    }

    /// The group that has a connector of this cluster.
    async fn only_group_of(&self, caller: &Caller, cluster: &str) -> Result<String> {
        let mut found = self.connectors(caller).await?;
        found.retain(|connector| connector.cluster == cluster);
        match &*found {
            [] => Err(unknown_connector(cluster, "any resource group")),
            [only] => Ok(only.resource_group.clone()),
            several => {
                let groups: Vec<&str> = several.iter().map(|connector| &*connector.resource_group).collect();
                let said = format!(
                    "is needed, because these resource groups have a cluster {cluster:?}: {}",
                    groups.join(", ")
                );
                Err(Error::about("/resource_group", "required", said))
            }
        }
    }

    async fn forget_connector(
        &self,
        caller: &Caller,
        group: &VisibleGroup,
        cluster: String,
        reason: Option<String>,
    ) -> Result<()> {
        let now = self.trusted_now();
        let missing = || unknown_connector(&cluster, &format!("{:?}", group.name));
        let tx = self.store().begin().await?;
        // The lock keeps reports of rounds of the group apart from this.
        if !store::groups::prevent_deletion(&tx, &group.name).await? {
            return Err(Error::unknown_group(&group.name));
        }
        let known = store::connectors::find(&tx, &group.name, &cluster).await?;
        let Some(known) = known else { return Err(missing()) };
        store::connectors::remove(&tx, &group.name, &cluster).await?;
        let is_last = store::connectors::count(&tx, &group.name).await? == 0;
        if is_last {
            store::shadow_reports::remove(&tx, group.key).await?;
        }
        let before = Some(audited_facts(&known));
        let change = AuditedChange { action: "connector.delete", target: cluster.clone(), before, after: None, reason };
        audit::write(&tx, &caller.author(), change, Some(&group.name), now).await?;
        tx.commit().await.map_err(StoreError::from)?;
        if is_last {
            self.comparisons.forget(group.key);
        }
        Ok(())
    }

    /// Removes connectors of a group whose last round is older than `keep_days`, and the days of its shadow report that are.
    /// Returns the numbers of connectors and of days.
    #[tracing::instrument(
        name = "service.connectors.purge_connectors",
        level = "debug",
        skip_all,
        fields(group),
        err(level = "debug")
    )]
    pub async fn purge_connectors(&self, group: &str, keep_days: u32) -> Result<(u64, u64)> {
        let key = self.group(&Caller::job(), group)?.key;
        let before = self.clock().now().day().back(keep_days);
        let db = self.store().write();
        store::day_rows::purge::<ShadowOwnerDay>(db, key.0, before).await?;
        let days = store::day_rows::purge::<store::shadow_reports::ShadowDay>(db, key.0, before).await?;
        Ok((store::connectors::purge(db, group, before.start()).await?, days))
    }
}

/// Refuses a new connector of a group that has too many.
async fn refuse_too_many(tx: &Tx, group: &VisibleGroup) -> Result<()> {
    if store::connectors::count(tx, &group.name).await? < MAX_CONNECTORS {
        return Ok(());
    }
    let detail = format!(
        "{:?} has {MAX_CONNECTORS} connectors; those without rounds go after their retention",
        group.name.to_string()
    );
    Err(Error::Conflict { code: "too_many_connectors", detail })
}

/// Writes a round, its entry in the audit log, and what its comparison adds to the shadow report.
async fn write_round(
    tx: &Tx,
    caller: &Caller,
    group: &VisibleGroup,
    known: Option<&StoredConnector>,
    row: &StoredConnector,
    claimed: Option<&RememberedComparison>,
) -> Result<()> {
    if let Some(claimed) = claimed {
        add_comparison(tx, group, row, claimed).await?;
    }
    audit_connector(tx, caller, known, row).await?;
    Ok(store::connectors::save(tx, row.clone()).await?)
}

/// Adds the comparison of a round to the shadow report of the group.
async fn add_comparison(
    tx: &Tx,
    group: &VisibleGroup,
    row: &StoredConnector,
    claimed: &RememberedComparison,
) -> Result<()> {
    let OrderComparison { agreement, first_places, owners } = &*claimed.comparison;
    let first_places = serde_json::to_string(first_places);
    let latest = ShadowComparison {
        cluster: row.cluster.clone(),
        mode: row.mode,
        taken_at: claimed.taken_at,
        agreement: *agreement,
        first_places: first_places.map_err(|e| Error::failed("a comparison was not written", e))?,
    };
    let day = claimed.taken_at.day();
    let owner = |gain: &OwnerGain| ShadowOwnerDay {
        day,
        owner: gain.owner,
        user_name: gain.shown.user_name.clone(),
        project_name: gain.shown.project_name.clone(),
        places_gained: gain.places,
    };
    Ok(store::shadow_reports::add_round(tx, group.key, day, latest, owners.iter().map(owner)).await?)
}

/// The facts of a connector that the audit log has.
fn audited_facts(row: &StoredConnector) -> Value {
    json!({"resource_group": row.resource_group, "kind": row.kind, "version": row.version, "mode": row.mode})
}

fn unknown_connector(cluster: &str, place: &str) -> Error {
    Error::NotFound {
        code: "unknown_connector",
        detail: format!("there is no connector of a cluster {cluster:?} in {place}"),
    }
}

/// Writes an entry into the audit log if the connector is new, or has another kind, version or mode. Rounds leave none.
async fn audit_connector(
    tx: &Tx,
    caller: &Caller,
    known: Option<&StoredConnector>,
    row: &StoredConnector,
) -> Result<()> {
    let (before, after) = (known.map(audited_facts), audited_facts(row));
    if before.as_ref() == Some(&after) {
        return Ok(());
    }
    let change = AuditedChange {
        action: "connector.put",
        target: row.cluster.clone(),
        before,
        after: Some(after),
        reason: None,
    };
    audit::write(tx, &caller.author(), change, Some(&row.resource_group), row.last_round_at).await?;
    Ok(())
}

/// The warning about a round whose comparison is not known.
fn missing_comparison() -> InputWarning {
    let detail = "no comparison of this round is at hand, so that the shadow report stays as it is: the same key has to ask this server \
                  for the sequence with `current_order` before, and a comparison counts once";
    InputWarning::at("/compared", "no_comparison", detail)
}
