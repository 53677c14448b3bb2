//! The order of the compared owners at one moment. Smaller keys come first.

use std::borrow::Cow;
use std::cmp::Ordering;

use crate::tier::Tier;

/// The sort keys of all compared owners, by number.
pub struct CandidateOrder<'a> {
    keys: Cow<'a, [u64]>,
    /// `None` if users are compared with each other at once.
    outer: Option<OuterKeys<'a>>,
}

/// The keys of domains and projects, which are compared before those of users.
pub struct OuterKeys<'a> {
    /// The number of each user's project.
    pub within: &'a [u32],
    /// The number of each project's domain.
    pub domain_of: &'a [u32],
    /// By project: the key of its domain, and its own key.
    pub projects: Vec<[u64; 2]>,
}

/// A user whose usage grows, and with it the usage of its project and its domain, so that all three keys change.
pub struct RisingOwner<'a> {
    keys: &'a [u64],
    outer: &'a OuterKeys<'a>,
    project: u32,
    /// The keys of the other users in the project, ascending.
    siblings: Vec<u64>,
    /// The number of users in each project.
    members: Vec<u32>,
}

/// The users that differ from this one only in their own keys, and the number of users that come before all of them.
#[derive(Clone, Debug)]
pub struct Siblings {
    pub before: u32,
    /// The keys of the others, ascending.
    pub keys: Vec<u64>,
}

impl Siblings {
    /// The place of an owner with this key, from 1 on.
    pub fn place(&self, key: u64) -> u32 {
        1 + self.before + to_number(self.keys.partition_point(|other| *other < key))
    }

    /// The largest key whose place is at most `place`; `None` if no key is small enough.
    pub fn largest_key_at(&self, place: u32) -> Option<u64> {
        let ahead = place.checked_sub(1 + self.before)?;
        Some(self.keys.get(ahead as usize).copied().unwrap_or(u64::MAX))
    }
}

fn to_number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

impl<'a> CandidateOrder<'a> {
    pub fn new(keys: Cow<'a, [u64]>, outer: Option<OuterKeys<'a>>) -> Self {
        Self { keys, outer }
    }

    /// The number of compared owners.
    pub fn count(&self) -> usize {
        self.keys.len()
    }

    fn outer_keys(&self, at: usize) -> [u64; 2] {
        self.outer.as_ref().map_or([0; 2], |outer| outer.projects[outer.within[at] as usize])
    }

    fn all_keys(&self, at: usize) -> [u64; 3] {
        let [domain, project] = self.outer_keys(at);
        [domain, project, self.keys[at]]
    }

    /// The order of each project relative to that of `at`.
    fn sides_at(&self, at: usize) -> Option<(&[u32], Vec<Ordering>)> {
        let outer = self.outer.as_ref()?;
        let own = self.outer_keys(at);
        Some((outer.within, outer.projects.iter().map(|keys| keys.cmp(&own)).collect()))
    }

    /// The place, from 1 on: the number of owners that come before, plus 1. Equals share a place.
    pub fn place(&self, at: usize) -> u32 {
        let own = self.keys[at];
        let before = match self.sides_at(at) {
            None => self.keys.iter().filter(|key| **key < own).count(),
            Some((within, sides)) => {
                let is_before = |(key, project): &(&u64, &u32)| match sides[**project as usize] {
                    Ordering::Less => true,
                    Ordering::Equal => **key < own,
                    Ordering::Greater => false,
                };
                self.keys.iter().zip(within).filter(is_before).count()
            }
        };
        1 + to_number(before)
    }

    /// How many others have the same place.
    pub fn count_equals(&self, at: usize) -> u32 {
        let own = self.all_keys(at);
        to_number((0..self.count()).filter(|other| *other != at && self.all_keys(*other) == own).count())
    }

    /// The last owner that comes before; the first one of equals.
    pub fn position_above(&self, at: usize) -> Option<usize> {
        let own = self.all_keys(at);
        let before = (0..self.count()).filter(|other| self.all_keys(*other) < own);
        before.max_by(|a, b| self.all_keys(*a).cmp(&self.all_keys(*b)).then(b.cmp(a)))
    }

    /// The first owner that comes after; the first one of equals.
    pub fn below(&self, at: usize) -> Option<usize> {
        let own = self.all_keys(at);
        let after = (0..self.count()).filter(|other| self.all_keys(*other) > own);
        after.min_by_key(|other| (self.all_keys(*other), *other))
    }

    /// The first tier in which the keys differ; `None` if the two are equal.
    pub fn decides(&self, one: usize, other: usize) -> Option<Tier> {
        let keys = self.all_keys(one).into_iter().zip(self.all_keys(other));
        keys.zip(Tier::ALL).find(|((a, b), _)| a != b).map(|(_, tier)| tier)
    }

    /// `None` if only users are compared, so that the own key alone decides.
    pub fn climber(&self, at: usize) -> Option<RisingOwner<'_>> {
        let outer = self.outer.as_ref()?;
        let project = outer.within[at];
        let mut members = vec![0; outer.projects.len()];
        let mut siblings = Vec::new();
        for (other, (key, within)) in self.keys.iter().zip(outer.within).enumerate() {
            members[*within as usize] += 1;
            if *within == project && other != at {
                siblings.push(*key);
            }
        }
        siblings.sort_unstable();
        Some(RisingOwner { keys: &self.keys, outer, project, siblings, members })
    }

    pub fn siblings_at(&self, at: usize) -> Siblings {
        let others = |other: &usize| *other != at;
        let (mut before, mut keys) = (0, Vec::new());
        match self.sides_at(at) {
            None => keys.extend((0..self.count()).filter(others).map(|other| self.keys[other])),
            Some((within, sides)) => {
                for other in (0..self.count()).filter(others) {
                    match sides[within[other] as usize] {
                        Ordering::Less => before += 1,
                        Ordering::Equal => keys.push(self.keys[other]),
                        Ordering::Greater => {}
                    }
                }
            }
        }
        keys.sort_unstable();
        Siblings { before, keys }
    }
}

impl RisingOwner<'_> {
    /// The place for these keys of the domain, the project and the user.
    pub fn place(&self, domain: u64, project: u64, own: u64) -> u32 {
        let home = self.outer.domain_of[self.project as usize];
        let mut before = to_number(self.siblings.partition_point(|other| *other < own));
        for (other, keys) in (0..).zip(&self.outer.projects) {
            if other == self.project {
                continue;
            }
            // The key of the domain has changed for all of its projects.
            let is_near = self.outer.domain_of[other as usize] == home;
            let [theirs, key] = [if is_near { domain } else { keys[0] }, keys[1]];
            before += match (theirs, key).cmp(&(domain, project)) {
                Ordering::Less => self.members[other as usize],
                Ordering::Equal => self.ahead_in(other, own),
                Ordering::Greater => 0,
            };
        }
        1 + before
    }

    /// The number of users of a project that have a smaller key.
    fn ahead_in(&self, project: u32, own: u64) -> u32 {
        let users = self.keys.iter().zip(self.outer.within);
        to_number(users.filter(|(key, within)| **within == project && **key < own).count())
    }
}
