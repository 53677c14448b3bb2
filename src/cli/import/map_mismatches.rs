//! Entries of a domain map that an import did not follow.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::api::{ImportApi, ProjectRow};
use super::domain_map::DomainMap;
use crate::api::input_warning::list_names;
use crate::cli::failure::CommandFailure;
use crate::cli::nouns::with_noun;
use crate::domain::names::UNKNOWN_DOMAIN;

/// The number of projects that one kind of warning names.
const PROJECTS_NAMED: usize = 5;

/// A project of the map that is in another domain on the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MisplacedProject {
    pub project: String,
    pub mapped_domain: String,
    pub domain_name: String,
}

/// The entries of a domain map that an import did not follow.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MapMismatches {
    /// By project.
    pub misplaced: Vec<MisplacedProject>,
    /// Projects of the map that no row of the file has, by name.
    pub without_rows: Vec<String>,
}

impl MapMismatches {
    /// Compares the map with the projects of the server after an import whose rows have the projects `in_rows`.
    pub(super) async fn find(
        api: &ImportApi,
        map: &DomainMap,
        in_rows: &BTreeSet<String>,
    ) -> Result<Self, CommandFailure> {
        if map.is_empty() {
            return Ok(Self::default());
        }
        let map: BTreeMap<&String, &String> = map.iter().collect();
        let projects = api.projects().await?;
        let by_name: BTreeMap<&str, &ProjectRow> =
            projects.iter().filter_map(|project| Some((project.name()?, project))).collect();
        let misplaced = map.iter().filter_map(|(project, mapped)| {
            let domain_name = &by_name.get(project.as_str())?.domain_name;
            let is_misplaced = domain_name != *mapped && *mapped != UNKNOWN_DOMAIN;
            is_misplaced.then(|| MisplacedProject {
                project: (*project).clone(),
                mapped_domain: (*mapped).clone(),
                domain_name: domain_name.clone(),
            })
        });
        let without_rows = map.keys().filter(|project| !in_rows.contains(project.as_str()));
        Ok(Self {
            misplaced: misplaced.collect(),
            without_rows: without_rows.map(|project| (*project).clone()).collect(),
        })
    }

    /// Sentences for the summary of an import.
    pub fn warnings(&self) -> Vec<String> {
        let sentence = |MisplacedProject { project, mapped_domain, domain_name }: &MisplacedProject| {
            format!(
                "the map says {mapped_domain}, the project {project} is in {domain_name}: \
                 `fairshared projects set {project} --domain {mapped_domain}` moves it"
            )
        };
        let mut warnings: Vec<String> = self.misplaced.iter().take(PROJECTS_NAMED).map(sentence).collect();
        if let Some(more @ 1..) = self.misplaced.len().checked_sub(PROJECTS_NAMED) {
            let more = with_noun(more as u64, "more project is", "more projects are");
            warnings.push(format!("{more} in another domain than the map says; `-o json` lists them"));
        }
        if !self.without_rows.is_empty() {
            let projects = with_noun(self.without_rows.len() as u64, "project", "projects");
            let names = list_names(&self.without_rows, PROJECTS_NAMED);
            warnings.push(format!("the map has {projects} that no row of the file has: {names}"));
        }
        warnings
    }
}
