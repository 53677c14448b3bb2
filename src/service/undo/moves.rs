//! What an entry of the audit log says of several things of one kind by their names.

use serde::de::DeserializeOwned;
use serde_json::Value;

/// What was changed, with what it was before and after.
pub type Move<K, V> = (K, V, V);

/// What is another after than before. `None`: that is not what the entry is about.
pub fn moves<K, V: DeserializeOwned + PartialEq>(
    before: &Value,
    after: &Value,
    named: impl Fn(&str) -> Option<K>,
) -> Option<Vec<Move<K, V>>> {
    let Some(after) = after.as_object() else { return Some(Vec::new()) };
    let value = |value: Option<&Value>| serde_json::from_value(value?.clone()).ok();
    let all = after.iter().map(|(name, now)| Some((named(name)?, value(before.get(name))?, value(Some(now))?)));
    let all: Vec<Move<K, V>> = all.collect::<Option<_>>()?;
    Some(all.into_iter().filter(|(_, before, after)| before != after).collect())
}
