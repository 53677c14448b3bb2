//! The rule of names: a name and a kind give a version 5 UUID, which is the same in every trace, feed and server
//! (docs/INTEGRATION.md, "Names instead of UUIDs").

use uuid::Uuid;

use super::ids::{KernelId, ProjectId, SessionId, UserId};

/// The namespace of all UUIDs that are made from names.
pub const NAMESPACE: Uuid = Uuid::from_u128(0x8f0e_55c4_6a0b_4f0e_9d7a_2f6f_61b1_5a37);

/// True for a name that can also be read as a UUID, in any spelling of UUIDs.
pub fn reads_as_uuid(name: &str) -> bool {
    Uuid::try_parse(name).is_ok()
}

/// The id of a user. It is the same in all resource groups and traces.
pub fn user(name: &str) -> UserId {
    UserId(stable_id("user", &[name]))
}

/// The id of a project. The domain is not part of it, because a project may move to another domain.
pub fn project(name: &str) -> ProjectId {
    ProjectId(stable_id("project", &[name]))
}

/// The id of one run of a job. `key` must be unique in the resource group.
pub fn kernel(group: &str, key: &str) -> KernelId {
    KernelId(stable_id("kernel", &[group, key]))
}

/// The id of a session, which the runs, array tasks or parts of one submission share.
pub fn session(group: &str, key: &str) -> SessionId {
    SessionId(stable_id("session", &[group, key]))
}

/// The UUID of a kind and names. Names contain no control characters, so NUL between them distinguishes `a`+`bc` from
/// `ab`+`c`.
fn stable_id(kind: &str, names: &[&str]) -> Uuid {
    let mut text = String::with_capacity(kind.len() + names.iter().map(|name| name.len() + 1).sum::<usize>());
    text.push_str(kind);
    for name in names {
        text.push('\0');
        text.push_str(name);
    }
    Uuid::new_v5(&NAMESPACE, text.as_bytes())
}
