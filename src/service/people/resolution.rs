//! The one rule by which a text stands for a user or a project. Every interface uses it through the
//! [`Directory`](super::Directory).
//!
//! A text that looks like a UUID may also be a name: subjects of `OpenID` Connect and hash sums are. Therefore the stored
//! names decide first, and a text is read as a UUID only where no stored name equals it. A UUID that an answer shows is
//! accepted as long as no name equals it.

use uuid::Uuid;

use crate::service::Fault;

/// The user or project that has a stored name.
#[derive(Clone, Copy, Debug)]
pub(super) struct NameHolder {
    pub id: Uuid,
    /// The rule of names gives the same id.
    pub by_rule: bool,
}

/// The names of a user or project that the server knows.
pub(super) struct KnownNames<'a> {
    pub name: Option<&'a str>,
    /// The display name stands in for a name that is absent.
    pub shown: Option<&'a str>,
}

/// The meaning of a text that reads as a UUID, where the server knows neither the name nor the UUID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnknownUuid {
    /// The UUID: the place takes UUIDs and names.
    IsId,
    /// A new name: the place takes names only.
    IsName,
}

/// A name that means two entities: one has it, and the other has its UUID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AmbiguousName;

impl AmbiguousName {
    /// The fault of a request that names so at `pointer`.
    pub fn fault(self, pointer: impl Into<String>, name: &str) -> Fault {
        let detail = format!("{name:?} is the name of one and by the rule of names the UUID of another; give the UUID");
        Fault::new(pointer, "ambiguous_name", detail)
    }
}

/// The id that `text` stands for, known or not. `holder` has `text` as its stored name, `by_rule` is the UUID that
/// follows from `text`, and `known` finds what the server knows under an id.
pub(super) fn resolve<'a>(
    text: &str,
    holder: Option<&NameHolder>,
    by_rule: impl FnOnce() -> Uuid,
    known: impl Fn(Uuid) -> Option<KnownNames<'a>>,
    otherwise: UnknownUuid,
) -> Result<Uuid, AmbiguousName> {
    if let Some(holder) = holder {
        let is_other = !holder.by_rule && known(by_rule()).is_some_and(|names| names.name.is_none());
        return if is_other { Err(AmbiguousName) } else { Ok(holder.id) };
    }
    let by_rule = by_rule();
    let Ok(reading) = Uuid::try_parse(text) else { return Ok(by_rule) };
    let names_of_rule = known(by_rule);
    // Imports of earlier releases stored such names as display names.
    let has_name = names_of_rule.as_ref().is_some_and(|names| names.name.is_none() && names.shown == Some(text));
    if has_name {
        return Ok(by_rule);
    }
    if known(reading).is_some() {
        return Ok(reading);
    }
    let is_name = names_of_rule.is_some() || otherwise == UnknownUuid::IsName;
    Ok(if is_name { by_rule } else { reading })
}

/// True where `text` gives the id itself, and so is no name that could be stored for it.
pub fn is_text_of_id(text: &str, id: Uuid) -> bool {
    Uuid::try_parse(text).is_ok_and(|reading| reading == id)
}
