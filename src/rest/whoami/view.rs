//! The key of the request, as REST shows it.

use crate::api::key_rights::WhoAmI;
use crate::engine::people::PeopleDirectory;
use crate::service::Caller;

/// The key of the caller.
pub fn who_am_i(caller: Caller, people: &PeopleDirectory) -> WhoAmI {
    WhoAmI {
        key_id: caller.client().id(),
        role: caller.principal.role.as_str(),
        user_uuid: caller.principal.user.map(|user| user.0),
        user_name: caller.principal.user.and_then(|user| people.user_name(user)),
        resource_groups: caller.principal.groups,
        expires_at: caller.principal.expires_at,
        label: caller.principal.actor.to_string(),
    }
}
