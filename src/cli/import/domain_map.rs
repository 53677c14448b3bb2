//! The domains of projects (accounts), for traces that do not contain them: lines of `project,domain`. A first line
//! with these two words, or `account,domain`, is a header.

use std::collections::HashMap;

use super::ImportError;
use super::csv_lines::each_record;
use super::reason::{DropReason, DroppedRow};
use super::source::LineSource;
use crate::domain::names::check_name;

/// Domains by project.
pub type DomainMap = HashMap<String, String>;

/// Reads the whole file or nothing, because usage must not count in the wrong domain.
pub fn read_domain_map(source: &mut LineSource) -> Result<DomainMap, ImportError> {
    let mut map: HashMap<String, (u64, String)> = HashMap::new();
    each_record(source, |line, record| {
        let refuse = |reason| ImportError::Row(DroppedRow { line, reason });
        let record = record.map_err(refuse)?;
        let (Some(project), Some(domain), 2) = (record.get(0), record.get(1), record.len()) else {
            return Err(refuse(DropReason::FieldCount));
        };
        let (project, domain) = (project.trim(), domain.trim());
        if line == 1 && matches!(project, "project" | "account") && domain == "domain" {
            return Ok(());
        }
        check_name(domain).map_err(|_| refuse(DropReason::BadName("domain")))?;
        match map.get(project) {
            Some((first, before)) if before != domain => {
                let (project, before, after) = (project.to_owned(), before.clone(), domain.to_owned());
                return Err(ImportError::DomainTwice { first: *first, second: line, project, before, after });
            }
            Some(_) => {}
            None => {
                map.insert(project.to_owned(), (line, domain.to_owned()));
            }
        }
        Ok(())
    })?;
    if map.is_empty() {
        return Err(ImportError::NoProject);
    }
    Ok(map.into_iter().map(|(project, (_, domain))| (project, domain)).collect())
}
