//! Moves usage of projects whose domain was not known when it was recorded.
//!
//! If a source names no domain, a project is in the placeholder domain until a report or an admin names a real one
//! (API.md, "People"). From then on everything that was recorded for the placeholder counts for that domain, as if it
//! had been known from the beginning: records, buckets, day totals, histories and kernels of the group. The first run
//! after the move does it in one transaction, so that reports, ranks and audits never see a partial move.
//!
//! Usage that was recorded for a real domain stays there when its project moves (FAIR_SHARE §2).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::folding::refold_entities;
use crate::domain::bucket::DayUsage;
use crate::domain::ids::{Owner, ProjectId};
use crate::domain::names::UNKNOWN_DOMAIN;
use crate::domain::time::Day;
use crate::engine::error::Result;
use crate::engine::group::transaction::GroupTransaction;
use crate::store;
use crate::store::day_totals::placeholder::{self, TotalsByPlace};
use crate::store::records::{self, NewRecord};

/// The number of records that are read together.
const PAGE_RECORDS: u64 = 20_000;

/// Projects that have left the placeholder, each with its domain.
type PlacedProjects = BTreeMap<ProjectId, Arc<str>>;
/// Usage that counted for the placeholder, by the domain for which it counts now.
type PlacedUsage = BTreeMap<Arc<str>, BTreeMap<Day, DayUsage>>;

/// Moves usage that counted for the placeholder to the domains of projects that have one now.
pub async fn place_usage(session: &mut GroupTransaction) -> Result<()> {
    session.learn_people().await?;
    let (moves, is_used) = {
        let people = session.people();
        (people.moves(), people.domain(UNKNOWN_DOMAIN).is_some())
    };
    if !is_used || session.state().placed_at == Some(moves) {
        return Ok(());
    }
    session.state_mut().placed_at = Some(moves);
    let projects = placed_projects(session).await?;
    if projects.is_empty() {
        return Ok(());
    }
    tracing::info!(
        group = session.group(),
        projects = projects.len(),
        "what projects used while their domain was not known counts for their domains now"
    );
    for domain in projects.values() {
        session.apply_to_state(|state| state.know_domain(domain));
    }
    let usage = move_totals_and_kernels(session, &projects).await?;
    move_records(session, &projects).await?;
    move_buckets(session, &usage).await?;
    session.forget_kernels();
    forget_placeholder(session).await
}

async fn placed_projects(session: &GroupTransaction) -> Result<PlacedProjects> {
    let with_usage = placeholder::projects(session.read(), session.key(), UNKNOWN_DOMAIN).await?;
    let people = session.people();
    let domain = |id| people.project(id).map(|project| Arc::clone(&project.domain_name));
    let placed = with_usage.into_iter().filter_map(|id| Some((id, domain(id)?)));
    Ok(placed.filter(|(_, domain)| **domain != *UNKNOWN_DOMAIN).collect())
}

/// The projects of each domain.
fn by_domain(projects: &PlacedProjects) -> BTreeMap<&Arc<str>, Vec<ProjectId>> {
    let mut domains: BTreeMap<&Arc<str>, Vec<ProjectId>> = BTreeMap::new();
    for (project, domain) in projects {
        domains.entry(domain).or_default().push(*project);
    }
    domains
}

/// Moves day totals and kernels. Returns the part of the totals that runs have recorded.
async fn move_totals_and_kernels(session: &mut GroupTransaction, projects: &PlacedProjects) -> Result<PlacedUsage> {
    let (db, group) = (session.write(), session.key());
    let mut usage = PlacedUsage::new();
    let mut sources: BTreeMap<i32, TotalsByPlace> = BTreeMap::new();
    for (source, day, (member, dimensions), daily) in placeholder::rows(db, group, UNKNOWN_DOMAIN).await? {
        let Some(domain) = projects.get(&member.project) else { continue };
        if source == placeholder::RECORDED {
            let sum: &mut DayUsage = usage.entry(Arc::clone(domain)).or_default().entry(day).or_default();
            sum.add_records(&daily.usage, daily.records);
        }
        sources.entry(source).or_default().insert((day, (member, dimensions.moved_to(domain))), daily);
    }
    let ids: Vec<ProjectId> = projects.keys().copied().collect();
    placeholder::remove_rows(db, group, UNKNOWN_DOMAIN, &ids).await?;
    for (source, totals) in sources {
        store::day_totals::histories::add_more(db, group, source, totals).await?;
    }
    for (domain, ids) in by_domain(projects) {
        placeholder::move_kernels(db, group, UNKNOWN_DOMAIN, domain, &ids).await?;
    }
    Ok(usage)
}

/// Gives records the kinds of their new domains.
async fn move_records(session: &mut GroupTransaction, projects: &PlacedProjects) -> Result<()> {
    let group = session.key();
    let (tx, state) = session.parts();
    let mut kinds = state.take_kinds(tx).await?;
    let mut after = None;
    loop {
        let (page, next) = records::page_of_domain(tx, group, UNKNOWN_DOMAIN, after, PAGE_RECORDS).await?;
        if page.is_empty() {
            break;
        }
        after = next;
        let moved = page.iter().filter_map(|record| {
            let domain = projects.get(&record.owner.project)?;
            let kind = kinds.number(&record.dimensions.moved_to(domain), &record.slots, record.span().start.day());
            Some(NewRecord { kind, ..record.stored })
        });
        let moved: Vec<NewRecord> = moved.collect();
        records::set_kinds(tx, group, &moved).await?;
    }
    kinds.save(tx, group).await?;
    state.keep_kinds(kinds);
    Ok(())
}

/// Moves the buckets of domains. The buckets of users and projects do not depend on the domain.
async fn move_buckets(session: &mut GroupTransaction, usage: &PlacedUsage) -> Result<()> {
    let first = usage.values().filter_map(|days| days.keys().next()).min().copied();
    let Some(first) = first else { return Ok(()) };
    session.load_chains_of(first).await?;
    let state = session.state_mut();
    let (unit, known_from) = (state.options.decay_unit_days, state.known_from());
    let placeholder = Owner::Domain(Arc::from(UNKNOWN_DOMAIN));
    let mut refold: BTreeMap<Owner, Day> = BTreeMap::new();
    for (domain, days) in usage {
        let domain = Owner::Domain(Arc::clone(domain));
        for (owner, day) in state.ledger.move_usage(&placeholder, &domain, days, unit, known_from) {
            refold.entry(owner).and_modify(|first| *first = day.min(*first)).or_insert(day);
        }
    }
    refold_entities(session, refold, None).await?;
    Ok(())
}

/// Removes the placeholder from the group once no project is in it and no usage counts for it, unless it has a weight.
async fn forget_placeholder(session: &mut GroupTransaction) -> Result<()> {
    let owner = Owner::Domain(Arc::from(UNKNOWN_DOMAIN));
    let state = session.state();
    let is_left = state.hierarchy.projects().values().any(|(domain, _)| **domain == *UNKNOWN_DOMAIN);
    let has_weight = state.hierarchy.share(&owner).is_none_or(|share| share.weight.is_some());
    if is_left || has_weight || !state.ledger.buckets(&owner).is_empty() {
        return Ok(());
    }
    session.state_mut().hierarchy.remove_domain(UNKNOWN_DOMAIN);
    store::shares::remove_domain(session.write(), session.group(), UNKNOWN_DOMAIN).await?;
    session.show_again();
    Ok(())
}
