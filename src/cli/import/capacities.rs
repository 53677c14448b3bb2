//! A capacities file: the amounts that agents offered, and when. `resource_group,agent_id,cpu,mem_gib,gpu,from,to`; an
//! empty `to` is open. An agent such as `node[01-10]` stands for several nodes, each of which offers the amounts of the
//! row.

use std::borrow::Cow;
use std::collections::BTreeMap;

use csv::StringRecord;

use super::ImportError;
use super::amounts::of_columns;
use super::csv_lines::{each_record, time};
use super::node_range;
use super::parser::TableHeader;
use super::reason::{DropReason, DroppedRow, MAX_NODES};
use super::skipped::SkippedFields;
use super::source::LineSource;
use crate::domain::names::check_name;
use crate::domain::slots::SlotAmounts;
use crate::domain::time::Timestamp;
use crate::engine::group::agent_slots::looks_like_range;

/// The amounts that one agent offered from `from` until `to`.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentCapacity {
    pub resource_group: String,
    pub agent: String,
    pub slots: SlotAmounts,
    pub from: Timestamp,
    /// `None` if it still does.
    pub to: Option<Timestamp>,
}

/// Names by which a line is recognised as a header line.
const REQUIRED_COLUMNS: [&str; 4] = ["resource_group", "agent_id", "from", "to"];

struct CapacityColumns {
    names: Vec<String>,
    resource_group: usize,
    agent_id: usize,
    cpu: Option<usize>,
    mem_gib: Option<usize>,
    gpu: Option<usize>,
    from: usize,
    to: usize,
}

impl CapacityColumns {
    fn locate(header: &StringRecord) -> Result<Self, ImportError> {
        let mut header = TableHeader::line(header.iter());
        Ok(Self {
            resource_group: header.need("resource_group"),
            agent_id: header.need("agent_id"),
            cpu: header.find("cpu"),
            mem_gib: header.find("mem_gib"),
            gpu: header.find("gpu"),
            from: header.need("from"),
            to: header.need("to"),
            names: header.into_names()?,
        })
    }

    /// The capacity of each node that a row names; an error if there are more than `max_nodes`.
    fn capacities(&self, record: &StringRecord, max_nodes: usize) -> Result<Vec<AgentCapacity>, DropReason> {
        let fields = join_brackets(record, self.names.len()).ok_or(DropReason::FieldCount)?;
        let field = |at: Option<usize>| at.map_or("", |at| fields[at].trim());
        let from = time(field(Some(self.from)), "from")?.ok_or(DropReason::BadTime("from"))?;
        let to = time(field(Some(self.to)), "to")?;
        if to.is_some_and(|to| to < from) {
            return Err(DropReason::EndBeforeStart);
        }
        let resource_group = field(Some(self.resource_group));
        check_name(resource_group).map_err(|_| DropReason::BadName("resource group"))?;
        let mut skipped = SkippedFields::default();
        let slots = of_columns(field(self.cpu), field(self.mem_gib), field(self.gpu), &mut skipped);
        if let Some(fault) = skipped.amount_fault() {
            return Err(fault);
        }
        let of_node = |agent: String| {
            check_name(&agent).map_err(|_| DropReason::BadName("agent"))?;
            if looks_like_range(&agent) {
                return Err(DropReason::BadNodeRange);
            }
            Ok(AgentCapacity { resource_group: resource_group.to_owned(), agent, slots: slots.clone(), from, to })
        };
        node_range::expand(field(Some(self.agent_id)), max_nodes)?.into_iter().map(of_node).collect()
    }
}

/// The fields of a row, `width` in number. A list in brackets such as `n[1-3,7]` is one field, even without quotes.
fn join_brackets(record: &StringRecord, width: usize) -> Option<Vec<Cow<'_, str>>> {
    let mut fields: Vec<Cow<str>> = Vec::with_capacity(width);
    for field in record {
        let is_open = |field: &&mut Cow<str>| field.matches(['[', '{']).count() > field.matches([']', '}']).count();
        match fields.last_mut().filter(|_| record.len() > width).filter(is_open) {
            Some(last) => *last = format!("{last},{field}").into(),
            None => fields.push(field.into()),
        }
    }
    (fields.len() == width).then_some(fields)
}

/// Reads the whole file or nothing, because a cluster without some of its nodes would give wrong shares.
pub fn read_capacities(source: &mut LineSource) -> Result<Vec<AgentCapacity>, ImportError> {
    let mut columns = None;
    let (mut rows, mut lines) = (Vec::new(), Vec::new());
    let mut in_ranges = 0;
    each_record(source, |line, record| {
        // Concatenated files have a header line each.
        let is_header = record.is_ok_and(|record| TableHeader::repeats(record.iter(), &REQUIRED_COLUMNS));
        let Some(known) = columns.as_ref().filter(|_| !is_header) else {
            columns = Some(CapacityColumns::locate(record.map_err(ImportError::UnreadableHeader)?)?);
            return Ok(());
        };
        let of_line = record.and_then(|record| known.capacities(record, MAX_NODES.saturating_sub(in_ranges).max(1)));
        let of_line = of_line.map_err(|reason| ImportError::Row(DroppedRow { line, reason }))?;
        lines.extend(std::iter::repeat_n(line, of_line.len()));
        in_ranges += of_line.len() - 1;
        rows.extend(of_line);
        Ok(())
    })?;
    if columns.is_none() {
        return Err(ImportError::NoHeader);
    }
    check_once(&rows, &lines)?;
    Ok(rows)
}

/// Refuses overlapping rows of one node. One of them is outdated or a mistake, and their sum would be wrong.
fn check_once(rows: &[AgentCapacity], lines: &[u64]) -> Result<(), ImportError> {
    let mut by_node: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (row, line) in rows.iter().zip(lines).filter(|(row, _)| row.to != Some(row.from)) {
        by_node.entry((&row.resource_group, &row.agent)).or_default().push((row, *line));
    }
    for ((group, agent), mut of_node) in by_node {
        of_node.sort_by_key(|(row, line)| (row.from, *line));
        let overlap = of_node.windows(2).find(|pair| pair[0].0.to.is_none_or(|to| to > pair[1].0.from));
        if let Some([(_, one), (_, other)]) = overlap {
            let (first, second) = (*one.min(other), *one.max(other));
            return Err(ImportError::CapacityTwice { first, second, group: group.clone(), agent: agent.clone() });
        }
    }
    Ok(())
}
