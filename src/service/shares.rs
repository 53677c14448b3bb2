//! Fair shares of the three tiers: filtered, ordered and paged from the published picture, so that
//! one page never mixes two calculations and no list needs SQL.

use std::sync::Arc;

use super::page::{Key, Page, Window, cut};
use super::published::{DomainShare, ProjectShare, PublishedGroup, UserShare};
use super::{Caller, Error, Result, Service};
use crate::domain::filter::{Filter, TextMatch, UuidIn};
use crate::domain::hierarchy::Share;
use crate::domain::ids::{Member, ProjectId, UserId};
use crate::domain::weight::EffectiveWeight;
use crate::store;

/// One condition on a share of any tier; a tier that lacks the property never meets it.
#[derive(Clone, Debug)]
pub enum ShareCondition {
    Domain(TextMatch),
    Project(UuidIn),
    User(UuidIn),
}

/// What a list of shares is ordered by; equals by id, ascending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShareField {
    FairShareFactor,
    EffectiveUsage,
    EffectiveWeight,
    Rank,
    Name,
}

/// What a list of shares asks for.
#[derive(Clone, Debug)]
pub struct ShareList {
    pub filter: Filter<ShareCondition>,
    pub field: ShareField,
    pub descending: bool,
    pub window: Window,
}

/// The name in cursors of a list with one order.
pub fn share_list_name(tier: &str, field: ShareField, descending: bool) -> String {
    format!("{tier}-fair-shares/{field:?}/{}", if descending { "desc" } else { "asc" })
}

/// A row of one tier.
trait Row {
    fn share(&self) -> &Share;
    /// What tells equals apart, in order.
    fn id(&self) -> Vec<Key>;
    fn meets(&self, condition: &ShareCondition) -> bool;
}

impl Row for DomainShare {
    fn share(&self) -> &Share {
        &self.share
    }
    fn id(&self) -> Vec<Key> {
        vec![Key::Text(self.domain_name.to_string())]
    }
    fn meets(&self, condition: &ShareCondition) -> bool {
        matches!(condition, ShareCondition::Domain(text) if text.holds(&self.domain_name))
    }
}

impl Row for ProjectShare {
    fn share(&self) -> &Share {
        &self.share
    }
    fn id(&self) -> Vec<Key> {
        vec![Key::Text(self.project_id.to_string())]
    }
    fn meets(&self, condition: &ShareCondition) -> bool {
        match condition {
            ShareCondition::Domain(text) => text.holds(&self.domain_name),
            ShareCondition::Project(ids) => ids.contains(&self.project_id.0),
            ShareCondition::User(_) => false,
        }
    }
}

impl Row for UserShare {
    fn share(&self) -> &Share {
        &self.share
    }
    fn id(&self) -> Vec<Key> {
        vec![Key::Text(self.member.user.to_string()), Key::Text(self.member.project.to_string())]
    }
    fn meets(&self, condition: &ShareCondition) -> bool {
        match condition {
            ShareCondition::Domain(text) => text.holds(&self.domain_name),
            ShareCondition::Project(ids) => ids.contains(&self.member.project.0),
            ShareCondition::User(ids) => ids.contains(&self.member.user.0),
        }
    }
}

/// The order value of a row; ascending whatever the direction.
fn order_value(share: &Share, field: ShareField, descending: bool) -> u64 {
    // Non-negative floats order like their bits.
    let value = match field {
        // The factor falls as the exponent grows, and never ties where the exponent does not (§2).
        ShareField::FairShareFactor => u64::MAX - share.exponent.sort_key(),
        ShareField::EffectiveUsage => share.history.normalized_usage.to_bits(),
        ShareField::EffectiveWeight => share.effective_weight.to_f64().to_bits(),
        ShareField::Rank => share.rank.into(),
        ShareField::Name => 0,
    };
    if descending { u64::MAX - value } else { value }
}

fn list_rows<'a, T: Row + Clone + 'a>(tier: &str, rows: impl Iterator<Item = &'a T>, list: &ShareList) -> Page<T> {
    let mut kept: Vec<(u64, &T)> = rows
        .filter(|row| list.filter.matches(&|c| row.meets(c)))
        .map(|row| (order_value(row.share(), list.field, list.descending), row))
        .collect();
    // Published rows ascend by rank and id already; only another order costs a sort.
    let ascends = kept.windows(2).all(|w| w[0].0 < w[1].0 || (w[0].0 == w[1].0 && w[0].1.id() <= w[1].1.id()));
    if !ascends {
        kept.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| a.1.id().cmp(&b.1.id())));
    }
    let key = |(value, row): &(u64, &T)| {
        let mut key = vec![Key::Number(*value)];
        key.extend(row.id());
        key
    };
    cut(&share_list_name(tier, list.field, list.descending), &kept, key, &list.window).map(|(_, row)| row.clone())
}

impl Service {
    pub fn domain_shares(
        &self,
        caller: &Caller,
        group: &PublishedGroup,
        list: &ShareList,
    ) -> Result<Page<DomainShare>> {
        caller.require_reader()?;
        Ok(list_rows("domain", group.domains.iter(), list))
    }

    pub fn project_shares(
        &self,
        caller: &Caller,
        group: &PublishedGroup,
        list: &ShareList,
    ) -> Result<Page<ProjectShare>> {
        caller.require_reader()?;
        Ok(list_rows("project", group.projects.iter(), list))
    }

    pub fn user_shares(&self, caller: &Caller, group: &PublishedGroup, list: &ShareList) -> Result<Page<UserShare>> {
        Ok(list_rows("user", self.ranking(caller, group), list))
    }

    /// Everybody whom the caller may see, by rank.
    pub fn ranking<'a>(
        &self,
        caller: &Caller,
        group: &'a PublishedGroup,
    ) -> impl Iterator<Item = &'a UserShare> + use<'a> {
        let only = caller.only_user();
        group.users.iter().filter(move |u| only.is_none_or(|user| user == u.member.user))
    }

    /// The users of one project.
    pub fn project_members(
        &self,
        caller: &Caller,
        group: &PublishedGroup,
        project: ProjectId,
        list: &ShareList,
    ) -> Result<Page<UserShare>> {
        let only = caller.only_user();
        let visible = group.members_of(project).filter(|u| only.is_none_or(|user| user == u.member.user));
        Ok(list_rows("user", visible, list))
    }

    /// A domain's share; a known domain without a row has used nothing. `None`: nobody knows it.
    pub async fn domain_share(
        &self,
        caller: &Caller,
        group: &PublishedGroup,
        name: &str,
    ) -> Result<Option<DomainShare>> {
        caller.require_reader()?;
        if let Some(found) = group.domain(name) {
            return Ok(Some(found.clone()));
        }
        let known = store::people::domains(self.store().read()).await?.iter().any(|d| d == name);
        let weight = EffectiveWeight::single(group.options.default_weight);
        Ok(known.then(|| DomainShare { domain_name: Arc::from(name), share: group.default_share(weight) }))
    }

    /// A project's share; a known project without a row has used nothing. `None`: nobody knows it.
    pub async fn project_share(
        &self,
        caller: &Caller,
        group: &PublishedGroup,
        id: ProjectId,
    ) -> Result<Option<ProjectShare>> {
        caller.require_reader()?;
        if let Some(found) = group.project(id) {
            return Ok(Some(found.clone()));
        }
        let known = store::people::find_projects(self.store().read(), [id]).await?.pop();
        let weight = EffectiveWeight::single(group.options.default_weight);
        Ok(known.map(|project| ProjectShare {
            project_id: id,
            project_name: project.display_name.map(Arc::from),
            domain_name: Arc::from(project.domain_name),
            share: group.default_share(weight),
        }))
    }

    /// A member's share; a known user in a known project without a row has used nothing. `None`:
    /// nobody knows the user or the project.
    pub async fn user_share(
        &self,
        caller: &Caller,
        group: &PublishedGroup,
        member: Member,
    ) -> Result<Option<UserShare>> {
        caller.require_user(member.user)?;
        if let Some(found) = group.user(member) {
            return Ok(Some(found.clone()));
        }
        let db = self.store().read();
        let Some(project) = store::people::find_projects(db, [member.project]).await?.pop() else { return Ok(None) };
        if !store::people::user_exists(db, member.user).await? {
            return Ok(None);
        }
        let default = group.options.default_weight;
        let domain_weight = group.domain(&project.domain_name).map_or(default, |d| group.weight(&d.share));
        let project_weight = group.project(member.project).map_or(default, |p| group.weight(&p.share));
        let weight = EffectiveWeight::product(domain_weight, project_weight, default);
        Ok(Some(UserShare {
            member,
            user_name: None,
            domain_name: Arc::from(project.domain_name),
            share: group.default_share(weight),
        }))
    }

    /// All rows of one user, best rank first. An unknown user is an error.
    pub async fn user_memberships(
        &self,
        caller: &Caller,
        group: &PublishedGroup,
        user: UserId,
    ) -> Result<Vec<UserShare>> {
        caller.require_user(user)?;
        let rows: Vec<UserShare> = group.memberships(user).cloned().collect();
        if rows.is_empty() {
            let db = self.store().read();
            let members: Vec<_> = store::people::memberships_of(db, user).await?;
            let mut defaults = Vec::new();
            for member in members {
                defaults.extend(self.user_share(caller, group, member).await?);
            }
            if defaults.is_empty() {
                return Err(Error::NotFound { code: "unknown_user", detail: format!("there is no user {user}") });
            }
            return Ok(defaults);
        }
        Ok(rows)
    }
}
