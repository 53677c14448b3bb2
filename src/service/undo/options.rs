//! The undo of changes of a group's scheduler and options.

use serde_json::{Map, Value};

use crate::service::Result;
use crate::service::audit::option_label;
use crate::service::group::changes::options::{self, OptionsChange, OptionsPatch};
use crate::service::group::changes::record::Record;
use crate::service::group::session::Session;

/// The options before and after, as the audit log describes them; `None`: an entry is not about them.
#[derive(Debug, Default)]
pub struct Options(Option<(Value, Value)>);

impl Options {
    pub fn read(before: &Value, after: &Value) -> Self {
        Self(after.get("scheduler_opts").map(|_| (before.clone(), after.clone())))
    }

    pub fn targets(&self) -> impl Iterator<Item = String> {
        self.0.iter().flat_map(|(before, after)| options::changed(before, after))
    }

    /// The first option of those changed that is not as it was after the change.
    pub fn differs(&self, session: &Session) -> Option<String> {
        let (_, after) = self.0.as_ref()?;
        let group = &session.state().group;
        let others = options::changed(after, &options::describe(&group.scheduler, &group.scheduler_opts));
        self.targets().find(|key| others.contains(key))
    }

    pub async fn take_back(&self, session: &mut Session, record: &mut Record) -> Result<()> {
        let Some((before, after)) = &self.0 else { return Ok(()) };
        let group = session.state().group.clone();
        let change = inverse(&group.scheduler, &group.scheduler_opts, before, after)?;
        record.note_options(
            &options::describe(&group.scheduler, &group.scheduler_opts),
            &options::describe(&change.scheduler, &change.opts),
        );
        change.make(session).await
    }
}

/// The options as they are, but for those that an entry has changed: they are as before it.
fn inverse(scheduler: &str, opts: &Map<String, Value>, before: &Value, after: &Value) -> Result<OptionsChange> {
    let changed = options::changed(before, after);
    let mut opts = opts.clone();
    let keys = [before, after].into_iter().filter_map(|side| side["scheduler_opts"].as_object()).flat_map(Map::keys);
    for key in keys.filter(|key| changed.contains(&option_label(key))) {
        match before["scheduler_opts"].get(key) {
            Some(value) => opts.insert(key.clone(), value.clone()),
            None => opts.remove(key),
        };
    }
    let was = before["scheduler"].as_str().filter(|_| changed.contains(&option_label("scheduler")));
    OptionsChange::plan(was.unwrap_or(scheduler), &opts, OptionsPatch::default())
}
