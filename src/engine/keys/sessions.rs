//! The sessions of the web pages in memory.

use std::collections::HashMap;

use arc_swap::ArcSwap;

use crate::store::ui_sessions::UiSession;

#[derive(Clone, Debug, Default)]
struct SessionRows {
    by_hash: HashMap<String, UiSession>,
    /// Grows with every change by this process. A read that began before a change is discarded.
    changes: u64,
}

/// All sessions by their hashes. A lookup never waits.
#[derive(Debug, Default)]
pub struct SessionTable(ArcSwap<SessionRows>);

impl SessionTable {
    pub fn get(&self, session_hash: &str) -> Option<UiSession> {
        self.0.load().by_hash.get(session_hash).copied()
    }

    pub fn changes(&self) -> u64 {
        self.0.load().changes
    }

    /// Applies what was read, unless this process has changed a session since `changes`.
    pub fn take(&self, changes: u64, take: impl Fn(&mut HashMap<String, UiSession>)) {
        self.0.rcu(|old| {
            let mut table = SessionRows::clone(old);
            if table.changes == changes {
                take(&mut table.by_hash);
            }
            table
        });
    }

    pub fn change(&self, change: impl Fn(&mut HashMap<String, UiSession>)) {
        self.0.rcu(|old| {
            let mut table = SessionRows::clone(old);
            change(&mut table.by_hash);
            table.changes += 1;
            table
        });
    }
}
