//! The rule by which a text stands for a user or a project. All interfaces use it through the
//! [`PeopleDirectory`](super::PeopleDirectory).
//!
//! A text that looks like a UUID may also be a name, such as a subject of `OpenID` Connect or a hash. Therefore stored
//! names are checked first, and a text is read as a UUID only if no stored name equals it. So a UUID from an answer is
//! accepted as long as no name equals it.

use uuid::Uuid;

use crate::engine::error::Fault;

/// The user or project with a stored name.
#[derive(Clone, Copy, Debug)]
pub(super) struct NameHolder {
    pub id: Uuid,
    /// True if the rule of names gives the same id.
    pub by_rule: bool,
}

/// The known names of a user or project.
pub(super) struct KnownNames<'a> {
    pub name: Option<&'a str>,
    /// The display name, which serves as the name if there is none.
    pub shown: Option<&'a str>,
}

/// The meaning of a text that reads as a UUID, if the server knows neither the name nor the UUID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnknownUuid {
    /// It is a UUID: UUIDs and names are accepted here.
    IsId,
    /// It is a new name: only names are accepted here.
    IsName,
}

/// The error of a text that means two entities: it is the name of one and the UUID of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AmbiguousName;

impl AmbiguousName {
    /// The fault of a request with this name at `pointer`.
    pub fn fault(self, pointer: impl Into<String>, name: &str) -> Fault {
        let detail = format!("{name:?} is the name of one and by the rule of names the UUID of another; give the UUID");
        Fault::new(pointer, "ambiguous_name", detail)
    }
}

/// The id that `text` stands for, whether known or not. `holder` has `text` as its stored name, `by_rule` gives the
/// UUID that is made from `text`, and `known` returns the names of an id.
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
    // Earlier releases stored imported names as display names.
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

/// True if `text` is a spelling of the id itself, which cannot be stored as its name.
pub fn is_text_of_id(text: &str, id: Uuid) -> bool {
    Uuid::try_parse(text).is_ok_and(|reading| reading == id)
}
