//! Finds the stored name that is most similar to an unknown name, which is usually mistyped.

use std::sync::Arc;

use super::PeopleDirectory;
use crate::domain::ids::{ProjectId, UserId};

/// Names longer than this may differ in two places, shorter ones in one.
const LONG_NAME_BYTES: usize = 6;

impl PeopleDirectory {
    /// The name nearest to `name`, among the names of users for which `is_shown` is true.
    pub fn nearest_user_name(&self, name: &str, is_shown: impl Fn(UserId) -> bool) -> Option<Arc<str>> {
        nearest(name, self.user_names(), |id| is_shown(UserId(id)))
    }

    /// [`PeopleDirectory::nearest_user_name`] for projects.
    pub fn nearest_project_name(&self, name: &str, is_shown: impl Fn(ProjectId) -> bool) -> Option<Arc<str>> {
        nearest(name, self.project_names(), |id| is_shown(ProjectId(id)))
    }
}

/// The nearest of `names`. Of several that are equally near it is the first in alphabetical order, because names arrive
/// in no order.
fn nearest<'a>(
    name: &str,
    names: impl Iterator<Item = (&'a Arc<str>, uuid::Uuid)>,
    is_shown: impl Fn(uuid::Uuid) -> bool,
) -> Option<Arc<str>> {
    let wanted = name.to_lowercase();
    let most = if wanted.len() < LONG_NAME_BYTES { 1 } else { 2 };
    let letters = letter_bits(&wanted);
    let mut found: Option<(usize, &Arc<str>)> = None;
    for (known, id) in names {
        // Hundreds of thousands of names may be known. These checks leave few to be compared letter by letter.
        if known.len().abs_diff(wanted.len()) > most
            || (letters ^ self::letter_bits(known)).count_ones() as usize > 2 * most
            || !is_shown(id)
        {
            continue;
        }
        let distance = strsim::osa_distance(&wanted, &known.to_lowercase());
        if distance <= most && found.is_none_or(|best| (distance, known) < best) {
            found = Some((distance, known));
        }
    }
    found.map(|(_, known)| Arc::clone(known))
}

/// A bit for each letter of a text, ignoring case. Two texts that differ in one place differ in at most two bits.
fn letter_bits(text: &str) -> u64 {
    text.bytes().fold(0, |letters, byte| letters | 1 << (byte.to_ascii_lowercase() % 64))
}
