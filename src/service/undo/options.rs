//! The undo of changes of a group's scheduler and options.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::domain::decimal::Amount;
use crate::engine::audit::option_label;
use crate::engine::group::changes::options::{self, OptionsChange};
use crate::engine::group::changes::record::ChangeRecord;
use crate::engine::group::transaction::GroupTransaction;
use crate::service::Result;

/// The options before and after, as the audit log describes them; `None` if the entry is not about options.
#[derive(Debug, Default)]
pub struct OptionsMove(Option<(Value, Value)>);

/// The keys that lead from the root of a description to a value.
pub type ValuePath = Vec<String>;

impl OptionsMove {
    pub fn read(before: &Value, after: &Value) -> Self {
        // The entry may also contain weights, projects and queues.
        let described =
            |side: &Value| json!({"scheduler": side["scheduler"], "scheduler_opts": side["scheduler_opts"]});
        Self(after.get("scheduler_opts").map(|_| (described(before), described(after))))
    }

    pub fn targets(&self) -> impl Iterator<Item = String> {
        self.0.iter().flat_map(|(before, after)| options::changed_names(before, after))
    }

    /// The first changed value that is not as it was after the change. Objects are compared key by key, because a patch
    /// merges them.
    pub fn differs(&self, session: &GroupTransaction) -> Option<ValuePath> {
        self.restored(session).err()
    }

    /// True if the entry has changed the value at `path`.
    pub fn changes(&self, path: &ValuePath) -> bool {
        let value = |side: &Value| path.iter().try_fold(side.clone(), |value, key| value.get(key).cloned());
        self.0.as_ref().is_some_and(|(before, after)| value(before) != value(after))
    }

    pub async fn take_back(&self, session: &mut GroupTransaction, record: &mut ChangeRecord) -> Result<()> {
        let Ok(Some(restored)) = self.restored(session) else { return Ok(()) };
        let opts = restored["scheduler_opts"].as_object().cloned().unwrap_or_default();
        let group = &session.state().group;
        let scheduler = restored["scheduler"].as_str().unwrap_or(&group.scheduler).to_owned();
        let change = OptionsChange::of(scheduler, opts)?;
        record.note_options(
            &options::describe(&group.scheduler, &group.scheduler_opts),
            &options::describe(&change.scheduler, &change.opts),
        );
        change.make(session).await
    }

    /// The present options, with the values that the entry has changed set back. Fails with the path of a value that is
    /// not as the entry left it.
    fn restored(&self, session: &GroupTransaction) -> std::result::Result<Option<Value>, ValuePath> {
        let Some((before, after)) = &self.0 else { return Ok(None) };
        let group = &session.state().group;
        let present = options::describe(&group.scheduler, &group.scheduler_opts);
        restore(Some(present), Some(before), Some(after), &mut ValuePath::new())
    }
}

/// The value `present` without the change from `before` to `after`. `None` is the value of an absent key.
fn restore(
    present: Option<Value>,
    before: Option<&Value>,
    after: Option<&Value>,
    path: &mut ValuePath,
) -> std::result::Result<Option<Value>, ValuePath> {
    if before == after {
        return Ok(present);
    }
    if is_same(present.as_ref(), after) {
        return Ok(before.cloned());
    }
    let (Some(mut now), Some(old), Some(new)) = (object(present), object(before.cloned()), object(after.cloned()))
    else {
        return Err(path.clone());
    };
    let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    for key in keys {
        path.push(key.clone());
        let restored = restore(now.remove(key), old.get(key), new.get(key), path)?;
        path.pop();
        now.extend(restored.map(|value| (key.clone(), value)));
    }
    Ok((before.is_some() || !now.is_empty()).then_some(Value::Object(now)))
}

/// True for equal values, and for texts and numbers of the same amount, such as "2" and "2.0".
fn is_same(one: Option<&Value>, other: Option<&Value>) -> bool {
    let amount = |value: Option<&Value>| match value? {
        Value::String(text) => text.parse::<Amount>().ok(),
        Value::Number(number) => number.to_string().parse().ok(),
        _ => None,
    };
    one == other || amount(one).is_some_and(|amount_of_one| amount(other) == Some(amount_of_one))
}

/// The keys of an object; none for an absent value. `None` if the value is not an object.
fn object(value: Option<Value>) -> Option<Map<String, Value>> {
    match value {
        None => Some(Map::new()),
        Some(Value::Object(map)) => Some(map),
        Some(_) => None,
    }
}

/// The names of the value at a path in messages: the option, and the keys below it.
pub fn value_label(path: &[String]) -> (String, String) {
    let option = match path {
        [root, option, ..] if root == "scheduler_opts" => option,
        _ => return (option_label("scheduler"), option_label("scheduler")),
    };
    let label = option_label(option);
    (label.clone(), path[2..].iter().fold(label, |label, key| format!("{label}/{key}")))
}
