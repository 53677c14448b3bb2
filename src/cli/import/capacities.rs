//! A capacities file: which agent offered what, and when.
//! `resource_group,agent_id,cpu,mem_gib,gpu,from,to`; an empty `to` is open.

use std::collections::BTreeMap;

use csv::StringRecord;

use super::ImportError;
use super::amounts::of_columns;
use super::csv_lines::{each_record, time};
use super::parser::Header;
use super::reason::{Dropped, Reason};
use super::source::Source;
use crate::domain::names::check_name;
use crate::domain::slots::Amounts;
use crate::domain::time::Timestamp;

/// What one agent offered from `from` until `to`.
#[derive(Clone, Debug, PartialEq)]
pub struct Capacity {
    pub resource_group: String,
    pub agent: String,
    pub slots: Amounts,
    pub from: Timestamp,
    /// `None`: still does.
    pub to: Option<Timestamp>,
}

struct Columns {
    width: usize,
    resource_group: usize,
    agent_id: usize,
    cpu: Option<usize>,
    mem_gib: Option<usize>,
    gpu: Option<usize>,
    from: usize,
    to: usize,
}

impl Columns {
    fn locate(header: &StringRecord) -> Result<Self, ImportError> {
        let mut header = Header::line(header.iter());
        Ok(Self {
            resource_group: header.need("resource_group"),
            agent_id: header.need("agent_id"),
            cpu: header.find("cpu"),
            mem_gib: header.find("mem_gib"),
            gpu: header.find("gpu"),
            from: header.need("from"),
            to: header.need("to"),
            width: header.width()?,
        })
    }

    fn capacity(&self, record: &StringRecord) -> Result<Capacity, Reason> {
        if record.len() != self.width {
            return Err(Reason::FieldCount);
        }
        let field = |at: Option<usize>| at.and_then(|at| record.get(at)).unwrap_or_default().trim();
        let name = |at: usize, what: &'static str| {
            let name = field(Some(at));
            check_name(name).map(|()| name.to_owned()).map_err(|_| Reason::BadName(what))
        };
        let from = time(field(Some(self.from)), "from")?.ok_or(Reason::BadTime("from"))?;
        let to = time(field(Some(self.to)), "to")?;
        if to.is_some_and(|to| to < from) {
            return Err(Reason::EndBeforeStart);
        }
        Ok(Capacity {
            resource_group: name(self.resource_group, "resource group")?,
            agent: name(self.agent_id, "agent")?,
            slots: of_columns(field(self.cpu), field(self.mem_gib), field(self.gpu))?,
            from,
            to,
        })
    }
}

/// Reads the whole file or none of it: a cluster that lacks a few nodes would skew every share.
pub fn read_capacities(source: &mut Source) -> Result<Vec<Capacity>, ImportError> {
    let mut columns = None;
    let (mut rows, mut lines) = (Vec::new(), Vec::new());
    each_record(source, |line, record| {
        let Some(known) = &columns else {
            columns = Some(Columns::locate(record.map_err(ImportError::UnreadableHeader)?)?);
            return Ok(());
        };
        let row = record.and_then(|record| known.capacity(record));
        rows.push(row.map_err(|reason| ImportError::Row(Dropped { line, reason }))?);
        lines.push(line);
        Ok(())
    })?;
    if columns.is_none() {
        return Err(ImportError::NoHeader);
    }
    check_once(&rows, &lines)?;
    Ok(rows)
}

/// A node offers one thing at a time: of two rows that overlap, one is old or a slip, and their sum would be wrong.
fn check_once(rows: &[Capacity], lines: &[u64]) -> Result<(), ImportError> {
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
