//! The proof that nothing is lost and nothing counted twice (§5): records against buckets, tier
//! against tier, on live data.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::state::Session;
use super::{Caller, Result, Service, accounting, detached};
use crate::domain::ledger::Entity;
use crate::domain::slots::Usages;
use crate::domain::time::Day;
use crate::service::weights::label;
use crate::store;

/// What an audit found.
#[derive(Clone, Debug)]
pub struct Conservation {
    /// The first row that differs; `None` proves conservation.
    pub difference: Option<Difference>,
    pub buckets: u64,
    /// Slot-seconds in the user, project and domain tier.
    pub totals: [Usages; 3],
    /// Records of earlier days were purged; those days are compared between tiers only.
    pub records_from: Option<Day>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    pub row: String,
    pub detail: String,
}

impl Service {
    /// Audits one group. Writers of the group wait meanwhile; readers do not.
    pub async fn audit_conservation(self: &Arc<Self>, caller: &Caller, group: &str) -> Result<Conservation> {
        caller.require_reader()?;
        let (service, group) = (Arc::clone(self), group.to_owned());
        detached(async move {
            let mut session = Session::open(&service, &group).await?;
            session.load_back_to(Day::MIN).await?;
            let stored = session.state().ledger.clone();
            let mut found = Conservation {
                difference: None,
                buckets: 0,
                totals: Default::default(),
                records_from: session.state().group.records_from,
            };
            for (entity, buckets) in stored.chains() {
                let tier = match entity {
                    Entity::User(_) => 0,
                    Entity::Project(_) => 1,
                    Entity::Domain(_) => 2,
                };
                for bucket in buckets {
                    found.buckets += 1;
                    found.totals[tier].add(&bucket.usage);
                }
            }
            found.difference = match store::records::first_overlap(session.tx(), &group).await? {
                Some((kernel, at)) => {
                    Some(Difference { row: format!("kernel:{kernel}"), detail: format!("two records overlap at {at}") })
                }
                None => tiers_differ(&found.totals),
            };
            if found.difference.is_none() {
                // Folding the records again must give the very same buckets; nothing of it is kept.
                accounting::rebuild_buckets(&mut session).await?;
                let changes = session.state_mut().ledger.take_changes();
                let rows: BTreeMap<(Day, String), (Entity, Day)> =
                    changes.upserts.into_iter().chain(changes.deletes).map(|(e, d)| ((d, label(&e)), (e, d))).collect();
                found.difference = rows.into_iter().find_map(|((day, name), (entity, start))| {
                    let usage = |ledger: &crate::domain::ledger::Ledger| {
                        ledger.bucket(&entity, start).map(|b| (b.usage.filtered(|u| !u.is_zero()), b.end, b.records))
                    };
                    let (is, should) = (usage(&stored), usage(&session.state().ledger));
                    (is != should).then(|| Difference {
                        row: format!("{name} {day}"),
                        detail: format!(
                            "the bucket holds {}; its records sum to {}",
                            describe(is.as_ref()),
                            describe(should.as_ref())
                        ),
                    })
                });
            }
            Ok(found)
        })
        .await
    }
}

fn tiers_differ(totals: &[Usages; 3]) -> Option<Difference> {
    let [users, projects, domains] = totals.each_ref().map(|t| t.filtered(|u| !u.is_zero()));
    let detail = |other: &Usages| format!("users sum to {}, this tier to {}", users.to_json(), other.to_json());
    if users != projects {
        return Some(Difference { row: "tier:project".to_owned(), detail: detail(&projects) });
    }
    (users != domains).then(|| Difference { row: "tier:domain".to_owned(), detail: detail(&domains) })
}

fn describe(bucket: Option<&(Usages, Day, u64)>) -> String {
    bucket.map_or_else(
        || "nothing".to_owned(),
        |(usage, end, records)| format!("{} to {end} from {records} records", usage.to_json()),
    )
}
