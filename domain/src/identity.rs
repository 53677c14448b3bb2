//! The rule of names: a name and a kind give a version 5 UUID, the same in every trace, feed and server (docs/INTEGRATION.md,
//! "Names instead of UUIDs").

use uuid::Uuid;

use super::ids::{KernelId, ProjectId, SessionId, UserId};

/// The namespace of every UUID that follows from names.
pub const NAMESPACE: Uuid = Uuid::from_u128(0x8f0e_55c4_6a0b_4f0e_9d7a_2f6f_61b1_5a37);

/// True for a name that can also be read as a UUID, in any spelling of UUIDs.
pub fn reads_as_uuid(name: &str) -> bool {
    Uuid::try_parse(name).is_ok()
}

/// A user is the same person in every resource group and trace.
pub fn user(name: &str) -> UserId {
    UserId(stable("user", &[name]))
}

/// The domain is no part of it: a project may move to another one.
pub fn project(name: &str) -> ProjectId {
    ProjectId(stable("project", &[name]))
}

/// One run of a job; `key` tells it from every other run in its resource group.
pub fn kernel(group: &str, key: &str) -> KernelId {
    KernelId(stable("kernel", &[group, key]))
}

/// What the runs, array tasks or parts of one submission share.
pub fn session(group: &str, key: &str) -> SessionId {
    SessionId(stable("session", &[group, key]))
}

/// Names hold no control characters, so a NUL between them keeps `a`+`bc` and `ab`+`c` apart.
fn stable(kind: &str, names: &[&str]) -> Uuid {
    let mut text = String::with_capacity(kind.len() + names.iter().map(|name| name.len() + 1).sum::<usize>());
    text.push_str(kind);
    for name in names {
        text.push('\0');
        text.push_str(name);
    }
    Uuid::new_v5(&NAMESPACE, text.as_bytes())
}
