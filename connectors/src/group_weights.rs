//! The weights of a resource group, by the names of its domains, projects and users.

use std::collections::BTreeMap;

use api::group_facts::GroupFacts;
use api::people_tree::PeopleTree;
use domain::weight::Weight;

use super::fault::RoundFault;
use super::server::{FairShareServer, ServerFailure};

/// The weights of a project and its users.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ProjectWeights {
    domain: String,
    weight: Weight,
    users: BTreeMap<String, Weight>,
}

/// The weights of a resource group. Those who have none of their own, and those that the group does not know, have the default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupWeights {
    default_weight: Weight,
    domains: BTreeMap<String, Weight>,
    projects: BTreeMap<String, ProjectWeights>,
}

impl GroupWeights {
    pub fn new(facts: &GroupFacts, tree: PeopleTree) -> Result<Self, RoundFault> {
        let default_weight = facts.scheduler_opts.default_weight;
        let weight_of = |text: Option<String>| match text {
            None => Ok(default_weight),
            Some(text) => Weight::parse(&text).map_err(|error| {
                RoundFault::new("unknown_format", format!("the server answered the weight {text:?}: {error}"))
            }),
        };
        let mut weights = Self { default_weight, domains: BTreeMap::new(), projects: BTreeMap::new() };
        for domain in tree.domains {
            weights.domains.insert(domain.domain_name.clone(), weight_of(domain.weight)?);
            for project in domain.projects {
                let users = project.users.into_iter().map(|user| Ok((user.user, weight_of(user.weight)?)));
                let users = users.collect::<Result<_, RoundFault>>()?;
                let (domain, weight) = (domain.domain_name.clone(), weight_of(project.weight)?);
                weights.projects.insert(project.project, ProjectWeights { domain, weight, users });
            }
        }
        Ok(weights)
    }

    /// Reads the weights of a group, unless its facts have the revision `known`. Returns them with their revision.
    pub async fn read(
        server: &impl FairShareServer,
        group: &str,
        known: Option<&str>,
    ) -> Result<Option<(Self, String)>, ServerFailure> {
        // The tree is read after the revision, so that one that has changed in between is read again in the next round.
        let facts = server.find_group(group).await?;
        if known == Some(&facts.config_revision) {
            return Ok(None);
        }
        let weights = Self::new(&facts, server.read_people_tree(group).await?);
        let weights = weights.map_err(|RoundFault { code, detail }| ServerFailure::Refused { code, detail })?;
        Ok(Some((weights, facts.config_revision)))
    }

    /// The domain of a project; `None` for a project that the group does not know.
    pub fn domain_of(&self, project: &str) -> Option<&str> {
        self.projects.get(project).map(|project| &*project.domain)
    }

    pub fn domain_weight(&self, domain: &str) -> Weight {
        self.domains.get(domain).copied().unwrap_or(self.default_weight)
    }

    pub fn project_weight(&self, project: &str) -> Weight {
        self.projects.get(project).map_or(self.default_weight, |project| project.weight)
    }

    /// The weight of a user of a project; that of all of its users together is the default.
    pub fn user_weight(&self, project: &str, user: Option<&str>) -> Weight {
        let known = || self.projects.get(project)?.users.get(user?).copied();
        known().unwrap_or(self.default_weight)
    }
}
