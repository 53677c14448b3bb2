//! Gives kinds, shapes and terms of affinity their indices, each once, however many workloads have them.

use std::cmp::Reverse;
use std::sync::Arc;

use super::facts::{AffinityPresence, RequestParts, ResolvedRequest, ResolvedWorkload, TermDomains, queue_of};
use super::predicates;
use super::request::workloads::{CyclePending, MemberTemplate};
use super::shapes::{MemberGroup, MemberKind, MemberRules, WorkloadShape};
use crate::division::{Fraction, QueueTree};
use crate::fault::Fault;
use crate::maps::FastMap;
use crate::placement_rules::{AffinityTerm, Labels};
use crate::reclaim::free_capacity::count_fits;
use crate::reclaim::input::{MAX_CHOICES, count_kernels};
use crate::reclaim::snapshot::cells_of;
use crate::slots::SlotAmounts;
use crate::time::Timestamp;

/// Adds the pending workloads of the request, and the terms of affinity of all workloads.
pub fn resolve<'a>(
    facts: &mut ResolvedRequest<'a>,
    tree: &QueueTree,
    source: &RequestParts<'a>,
) -> Result<(), Vec<Fault>> {
    Resolver::new(facts, tree, source).resolve(source)
}

/// Two members with the same key are equal.
#[derive(PartialEq, Eq, Hash)]
struct KindKey<'a> {
    slots: &'a SlotAmounts,
    rules: MemberRules<'a>,
}

/// Gives kinds, shapes and terms their indices.
struct Resolver<'f, 'a> {
    facts: &'f mut ResolvedRequest<'a>,
    tree: &'f QueueTree,
    kinds: FastMap<KindKey<'a>, usize>,
    shapes: FastMap<WorkloadShape, usize>,
    terms: FastMap<&'a AffinityTerm, usize>,
    /// The terms that each set of labels matches.
    matching: FastMap<&'a Labels, Vec<usize>>,
    running: FastMap<&'a str, (usize, usize)>,
}

impl<'f, 'a> Resolver<'f, 'a> {
    fn new(facts: &'f mut ResolvedRequest<'a>, tree: &'f QueueTree, source: &RequestParts<'a>) -> Self {
        let ids = source.running.iter().enumerate().map(|(at, w)| (&*w.workload_id, (at, count_kernels(&w.members))));
        Self {
            facts,
            tree,
            kinds: FastMap::default(),
            shapes: FastMap::default(),
            terms: FastMap::default(),
            matching: FastMap::default(),
            running: ids.collect(),
        }
    }

    fn resolve(mut self, source: &RequestParts<'a>) -> Result<(), Vec<Fault>> {
        if !self.facts.only_totals {
            self.resolve_terms(source)?;
        }
        let running = source.running.iter();
        self.facts.presences = running
            .map(|workload| AffinityPresence {
                matching: self.matching_terms(&workload.labels),
                against: self.terms_of(&workload.affinity.against),
            })
            .collect();
        for (at, workload) in source.pending.iter().enumerate() {
            let shape = self.shape_of(workload)?;
            if let Some(running) = shape.rest_of {
                self.facts.rests[running] = Some(at);
            }
            let known = self.shapes.len();
            let shape = *self.shapes.entry(shape).or_insert(known);
            let queue = queue_of(self.tree, workload.queue.as_deref());
            self.facts.workloads.push(ResolvedWorkload { input: workload, queue, shape, age: 0 });
        }
        let mut shapes: Vec<(WorkloadShape, usize)> = self.shapes.into_iter().collect();
        shapes.sort_unstable_by_key(|(_, at)| *at);
        self.facts.shapes = shapes.into_iter().map(|(shape, _)| shape).collect();
        let facts = &*self.facts;
        let need = |shape: &WorkloadShape| {
            let unused = vec![0; shape.groups.len()];
            facts.need_of_members(shape, &unused, shape.minimum().max(1))
        };
        self.facts.needs = self.facts.shapes.iter().map(need).collect();
        rank_by_age(&mut self.facts.workloads);
        Ok(())
    }

    fn resolve_terms(&mut self, source: &RequestParts<'a>) -> Result<(), Vec<Fault>> {
        let pending = source.pending.iter().flat_map(|w| w.affinity.with.iter().chain(&w.affinity.against));
        let running = source.running.iter().flat_map(|w| &w.affinity.against);
        let mut topologies: FastMap<&str, Arc<Vec<usize>>> = FastMap::default();
        for term in pending.chain(running) {
            if self.terms.contains_key(term) {
                continue;
            }
            let topology = topologies.entry(&term.topology_key);
            let domain = Arc::clone(topology.or_insert_with(|| Arc::new(self.facts.domains_of(&term.topology_key))));
            self.terms.insert(term, self.facts.terms.len());
            self.facts.terms.push(TermDomains { labels: &term.labels, domain });
            if topologies.len().saturating_mul(self.facts.rows) > MAX_CHOICES {
                break;
            }
        }
        let labels = source.pending.iter().map(|w| &w.labels).chain(source.running.iter().map(|w| &w.labels));
        let sets = if self.terms.is_empty() { 0 } else { labels.collect::<std::collections::HashSet<_>>().len() };
        let choices = sets.saturating_mul(self.terms.len()).max(topologies.len().saturating_mul(self.facts.rows));
        if choices > MAX_CHOICES {
            let detail =
                format!("the request has more than {MAX_CHOICES} pairs of an affinity term and a set of labels");
            return Err(vec![Fault::new("/pending", "too_many", detail)]);
        }
        Ok(())
    }

    /// The indices of terms; none where only totals count, because nothing is known of agents then.
    fn terms_of(&self, terms: &[AffinityTerm]) -> Vec<usize> {
        let mut found: Vec<usize> = terms.iter().filter_map(|term| self.terms.get(term).copied()).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    fn matching_terms(&mut self, labels: &'a Labels) -> Vec<usize> {
        if self.facts.terms.is_empty() {
            return Vec::new();
        }
        let facts = &self.facts;
        let matches = |term: &TermDomains| term.labels.iter().all(|(key, value)| labels.get(key) == Some(value));
        let find = || facts.terms.iter().enumerate().filter(|(_, term)| matches(term)).map(|(at, _)| at).collect();
        self.matching.entry(labels).or_insert_with(find).clone()
    }

    fn shape_of(&mut self, workload: &'a CyclePending) -> Result<WorkloadShape, Vec<Fault>> {
        let mut groups = Vec::with_capacity(workload.members.len());
        let mut count = 0;
        for member in &workload.members {
            let kind = self.kind_of(workload, member)?;
            let number = usize::try_from(member.count).unwrap_or_default();
            groups.push(MemberGroup { kind, first: count, count: number, priority: member.priority });
            count += number;
        }
        groups.sort_by_key(|group| Reverse(group.priority));
        let groups = merge_alike(groups);
        let rest_of = self.running.get(&*workload.workload_id).copied();
        let running = rest_of.map_or(0, |(_, running)| running);
        let size = |value: Option<i64>| value.map(|value| usize::try_from(value).unwrap_or_default());
        Ok(WorkloadShape {
            groups,
            count,
            running,
            gang: size(workload.gang_min).map_or(count + running, |min| min.max(1)),
            most: size(workload.parallel_limit).map_or(count, |limit| count.min(limit.saturating_sub(running))),
            with: self.terms_of(&workload.affinity.with),
            against: self.terms_of(&workload.affinity.against),
            matching: self.matching_terms(&workload.labels),
            max_per_agent: size(workload.max_per_agent).filter(|_| !self.facts.only_totals),
            rest_of: rest_of.map(|(at, _)| at),
        })
    }

    /// The kind of a member. A new one is compared with each agent, so that too many of them are refused before.
    fn kind_of(&mut self, workload: &'a CyclePending, member: &'a MemberTemplate) -> Result<usize, Vec<Fault>> {
        let rules = MemberRules {
            labels: &member.labels,
            expressions: &workload.affinity.agents,
            tolerations: &workload.tolerations,
        };
        let key = KindKey { slots: &member.slots, rules };
        let known = self.kinds.len();
        let kind = *self.kinds.entry(key).or_insert(known);
        if kind == known {
            if (known + 1).saturating_mul(self.facts.rows) > MAX_CHOICES {
                let detail = format!("the request has more than {MAX_CHOICES} pairs of a kind of member and an agent");
                return Err(vec![Fault::new("/pending", "too_many", detail)]);
            }
            let made = self.make_kind(member, rules);
            self.facts.kinds.push(made);
        }
        Ok(kind)
    }

    fn make_kind(&self, member: &'a MemberTemplate, rules: MemberRules<'a>) -> MemberKind<'a> {
        let facts = &self.facts;
        let request: Vec<(usize, u128)> = cells_of(self.tree, &member.slots).collect();
        let part = |(column, units): &(usize, u128)| Fraction::new(*units, facts.capacity[*column].units());
        let mut kind = MemberKind {
            size: request.iter().map(part).max().unwrap_or(Fraction::ZERO),
            request,
            rules,
            refusing: Vec::new(),
            has_agent: false,
            could_run: false,
        };
        kind.refusing = if facts.only_totals {
            vec![0]
        } else {
            facts.agents.iter().map(|agent| predicates::refusing(&rules, &agent.rules())).collect()
        };
        let lasting = predicates::lasting();
        let fits_empty = |agent: usize| {
            let total = |column: usize| i128::try_from(facts.total[(agent, column)]).unwrap_or(i128::MAX);
            count_fits(total, &kind.request, 1) > 0
        };
        let eligible = || (0..facts.rows).filter(|agent| kind.refusing[*agent] & lasting == 0);
        (kind.has_agent, kind.could_run) = (eligible().next().is_some(), eligible().any(fits_empty));
        kind
    }
}

/// Joins neighbours that differ in nothing. Their numbers follow each other as well, because priorities are equal.
fn merge_alike(groups: Vec<MemberGroup>) -> Vec<MemberGroup> {
    let mut merged: Vec<MemberGroup> = Vec::with_capacity(groups.len());
    for group in groups {
        match merged.last_mut() {
            Some(last)
                if (last.kind, last.priority) == (group.kind, group.priority)
                    && last.first + last.count == group.first =>
            {
                last.count += group.count;
            }
            _ => merged.push(group),
        }
    }
    merged
}

fn rank_by_age(workloads: &mut [ResolvedWorkload]) {
    let mut order: Vec<usize> = (0..workloads.len()).collect();
    let key = |at: &usize| {
        let input = workloads[*at].input;
        (input.submitted_at.map_or(i64::MAX, Timestamp::micros), &input.workload_id)
    };
    order.sort_unstable_by(|a, b| key(a).cmp(&key(b)));
    for (age, workload) in order.into_iter().enumerate() {
        workloads[workload].age = age;
    }
}
