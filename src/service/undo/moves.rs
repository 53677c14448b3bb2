//! Reads changes of several items of one kind, by name, from an audit entry.

use serde::de::DeserializeOwned;
use serde_json::Value;

/// An item with its values before and after the change.
pub type ItemMove<K, V> = (K, V, V);

/// The items whose values before and after differ. `None` if the entry is not about such items.
pub fn item_moves<K, V: DeserializeOwned + PartialEq>(
    before: &Value,
    after: &Value,
    named: impl Fn(&str) -> Option<K>,
) -> Option<Vec<ItemMove<K, V>>> {
    let Some(after) = after.as_object() else { return Some(Vec::new()) };
    let value = |value: Option<&Value>| serde_json::from_value(value?.clone()).ok();
    let all = after.iter().map(|(name, now)| Some((named(name)?, value(before.get(name))?, value(Some(now))?)));
    let all: Vec<ItemMove<K, V>> = all.collect::<Option<_>>()?;
    Some(all.into_iter().filter(|(_, before, after)| before != after).collect())
}
