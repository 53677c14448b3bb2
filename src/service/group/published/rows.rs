//! The rows of a picture: what each domain, project and user has in the group, by rank, and where each row is.

use std::sync::{Arc, OnceLock};

use crate::domain::hierarchy::{Hierarchy, Ranking, Share};
use crate::domain::ids::{Member, ProjectId, UserId};
use crate::domain::maps::FastMap;
use crate::service::people::Directory;

/// A domain's row; ranked in the group.
#[derive(Clone, Debug)]
pub struct DomainShare {
    pub domain_name: Arc<str>,
    pub share: Share,
    /// Archived: left out of lists and rankings. Its numbers go on.
    pub hidden: bool,
}

/// A project's row; ranked in its domain.
#[derive(Clone, Debug)]
pub struct ProjectShare {
    pub project_id: ProjectId,
    pub project_name: Option<Arc<str>>,
    pub domain_name: Arc<str>,
    pub share: Share,
    /// It or its domain is archived.
    pub hidden: bool,
}

/// A member's row; ranked in the group.
#[derive(Clone, Debug)]
pub struct UserShare {
    pub member: Member,
    pub user_name: Option<Arc<str>>,
    pub project_name: Option<Arc<str>>,
    pub domain_name: Arc<str>,
    pub share: Share,
    /// The user, the project or its domain is archived.
    pub hidden: bool,
}

/// All rows by rank, equals by id; projects by domain first.
#[derive(Debug)]
pub struct Rows {
    pub domains: Vec<DomainShare>,
    pub projects: Vec<ProjectShare>,
    pub users: Vec<UserShare>,
    domain_at: FastMap<Arc<str>, usize>,
    project_at: FastMap<ProjectId, usize>,
    user_at: FastMap<Member, usize>,
    users_of: FastMap<UserId, Vec<usize>>,
    /// Built for the first request that asks.
    members_of: OnceLock<FastMap<ProjectId, Vec<usize>>>,
}

impl Rows {
    pub fn build(hierarchy: &Hierarchy, people: &Directory, ranking: &Ranking) -> Self {
        let domains = domains(hierarchy, people, ranking);
        let projects = projects(hierarchy, people, ranking);
        let project_at: FastMap<_, _> = projects.iter().enumerate().map(|(i, p)| (p.project_id, i)).collect();
        let users: Vec<UserShare> = ranking
            .users
            .iter()
            .filter_map(|member| {
                let project = projects.get(*project_at.get(&member.project)?)?;
                let share = hierarchy.users.get(member)?.clone();
                Some(UserShare {
                    member: *member,
                    user_name: people.user_name(member.user),
                    project_name: project.project_name.clone(),
                    domain_name: Arc::clone(&project.domain_name),
                    share,
                    hidden: project.hidden || people.hides_user(member.user),
                })
            })
            .collect();
        let mut users_of: FastMap<UserId, Vec<usize>> = FastMap::default();
        for (at, user) in users.iter().enumerate() {
            users_of.entry(user.member.user).or_default().push(at);
        }
        Self {
            domain_at: domains.iter().enumerate().map(|(i, d)| (Arc::clone(&d.domain_name), i)).collect(),
            project_at,
            user_at: users.iter().enumerate().map(|(i, u)| (u.member, i)).collect(),
            users_of,
            members_of: OnceLock::new(),
            domains,
            projects,
            users,
        }
    }

    pub fn domain(&self, name: &str) -> Option<&DomainShare> {
        self.domain_at.get(name).map(|at| &self.domains[*at])
    }

    pub fn project(&self, id: ProjectId) -> Option<&ProjectShare> {
        self.project_at.get(&id).map(|at| &self.projects[*at])
    }

    pub fn user(&self, member: Member) -> Option<&UserShare> {
        self.user_at.get(&member).map(|at| &self.users[*at])
    }

    /// All projects' rows of one user, best rank first.
    pub fn memberships(&self, user: UserId) -> impl Iterator<Item = &UserShare> {
        self.users_of.get(&user).into_iter().flatten().map(|at| &self.users[*at])
    }

    /// The rows of one project's users, best rank first.
    pub fn members_of(&self, project: ProjectId) -> impl Iterator<Item = &UserShare> {
        let index = self.members_of.get_or_init(|| {
            let mut index: FastMap<ProjectId, Vec<usize>> = FastMap::default();
            for (at, user) in self.users.iter().enumerate() {
                index.entry(user.member.project).or_default().push(at);
            }
            index
        });
        index.get(&project).into_iter().flatten().map(|at| &self.users[*at])
    }
}

fn domains(hierarchy: &Hierarchy, people: &Directory, ranking: &Ranking) -> Vec<DomainShare> {
    let row = |name: &Arc<str>| {
        Some(DomainShare {
            domain_name: Arc::clone(name),
            share: hierarchy.domains.get(name)?.clone(),
            hidden: people.hides_domain(name),
        })
    };
    ranking.domains.iter().filter_map(row).collect()
}

fn projects(hierarchy: &Hierarchy, people: &Directory, ranking: &Ranking) -> Vec<ProjectShare> {
    let row = |id: &ProjectId| {
        let (domain, share) = hierarchy.projects.get(id)?;
        Some(ProjectShare {
            project_id: *id,
            project_name: people.project_name(*id),
            domain_name: Arc::clone(domain),
            share: share.clone(),
            hidden: people.hides_project(*id),
        })
    };
    ranking.projects.iter().filter_map(row).collect()
}
