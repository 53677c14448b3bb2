//! The checks of `--check` that all connectors share: the server, the key, the clocks and the lock.

use api::key_rights::KeyRights;
use domain::time::{MICROS_PER_SECOND, Timestamp};

use super::server::{FairShareServer, ServerFailure};
use super::setup_check::SetupCheck;

/// The largest accepted difference of the clocks, in seconds.
const MAX_SKEW_SECONDS: i64 = 10;
const KEY_ROLE: &str = "key_role";
const CLOCK: &str = "clock";

/// The needs of a connector that the checks hold against the server.
#[derive(Clone, Copy, Debug)]
pub struct ServerNeeds<'a> {
    /// The kind of the connector, which is the label of its key.
    pub kind: &'a str,
    /// The resource group; `None` if the scheduler has not said which cluster it is.
    pub group: Option<&'a str>,
    /// True if the connector is to bring a tree of people; `None` if its scheduler has none.
    pub tree_sync: Option<bool>,
}

impl ServerNeeds<'_> {
    fn group_name(&self) -> &str {
        self.group.unwrap_or("GROUP")
    }

    /// The command that makes a key with which the connector can work.
    fn key_advice(&self) -> String {
        format!("fairshared keys create --role connector --label {} --group {}", self.kind, self.group_name())
    }

    /// True if a key of these rights reaches the resource group, or if the group is not known.
    fn is_reached_by(&self, rights: &KeyRights) -> bool {
        let (Some(group), Some(groups)) = (self.group, &rights.resource_groups) else { return true };
        groups.iter().any(|name| name == group)
    }
}

/// Checks that the server answers, and that the key may do what the connector needs.
pub async fn check_server(
    server: Option<&impl FairShareServer>,
    needs: ServerNeeds<'_>,
    now: impl Fn() -> Timestamp,
) -> Vec<SetupCheck> {
    let Some(server) = server else {
        let fix = "server = \"https://fairshared.example.org\" in the settings file";
        return vec![SetupCheck::failed("server", "no server is set", fix)];
    };
    let answers = SetupCheck::passed("server", "the server answers");
    let rights = match server.key_rights().await {
        Ok(rights) => rights,
        Err(ServerFailure::Away(detail)) => {
            return vec![SetupCheck::failed("server", detail, "look whether `fairshared serve` runs there")];
        }
        // A key that the server does not take would fail all other checks as well, and their advice would mislead.
        Err(failure) => {
            return vec![answers, SetupCheck::failed(KEY_ROLE, failure.into_fault().detail, needs.key_advice())];
        }
    };
    let unknown_time = || SetupCheck::passed(CLOCK, "the server does not say its time");
    let clock = rights.answered_at.map_or_else(unknown_time, |time| compare_clocks(time, now()));
    let reaches = needs.is_reached_by(&rights);
    let mut checks = vec![answers];
    checks.extend(check_key(&rights, needs));
    // A key that does not reach the group cannot see whether it is there.
    if let Some(group) = needs.group.filter(|_| reaches) {
        checks.push(match server.find_group(group).await {
            Ok(_) => SetupCheck::passed("resource_group", format!("the resource group {group} is there")),
            Err(failure) => {
                let fix = format!("fairshared groups create {group}");
                SetupCheck::failed("resource_group", failure.into_fault().detail, fix)
            }
        });
    }
    checks.push(clock);
    checks
}

/// Checks the role and the groups of the key.
fn check_key(rights: &KeyRights, needs: ServerNeeds<'_>) -> Vec<SetupCheck> {
    let fix = needs.key_advice();
    let (role, is_full, reaches) = (&rights.role, rights.is_of_connector(), needs.is_reached_by(rights));
    let role_check = if !["scheduler", "connector", "admin"].contains(&role.as_str()) {
        let detail = format!("the key has the role {role}, which may not report");
        SetupCheck::failed(KEY_ROLE, detail, fix.clone())
    } else if reaches {
        let agents = if is_full { "" } else { "; nodes become agents only with the role connector or admin" };
        SetupCheck::passed(KEY_ROLE, format!("the key has the role {role}{agents}"))
    } else {
        let detail = format!("the key does not reach the resource group {}", needs.group_name());
        SetupCheck::failed(KEY_ROLE, detail, fix.clone())
    };
    let sync_check = needs.tree_sync.map(|syncs| check_sync(syncs, is_full && reaches, &fix));
    std::iter::once(role_check).chain(sync_check).collect()
}

/// The check whether the key may bring the tree of accounts.
fn check_sync(syncs: bool, may_sync: bool, fix: &str) -> SetupCheck {
    const NAME: &str = "tree_sync";
    match (syncs, may_sync) {
        (false, _) => SetupCheck::passed(NAME, "accounts and shares are kept at the server by hand"),
        (true, true) => SetupCheck::passed(NAME, "the key may bring accounts and shares"),
        (true, false) => {
            let detail = "the key may not bring accounts and shares, so that these stay as they are at the server";
            SetupCheck::failed(NAME, detail, format!("{fix} (or: tree_sync = false)")).as_warning()
        }
    }
}

/// The check that the clock of the server and that of this machine show the same time.
pub fn compare_clocks(server: Timestamp, here: Timestamp) -> SetupCheck {
    let skew = (here.micros() - server.micros()).abs() / MICROS_PER_SECOND;
    let detail = format!("the clocks of this machine and of the server differ by {skew} seconds");
    if skew <= MAX_SKEW_SECONDS {
        SetupCheck::passed(CLOCK, detail)
    } else {
        SetupCheck::failed(CLOCK, detail, "let both set their clocks by the same source, such as NTP").as_warning()
    }
}

/// The check that no other connector of the cluster runs.
pub fn check_lock(is_free: bool, folder: &str) -> SetupCheck {
    if is_free {
        SetupCheck::passed("lock", format!("no other connector uses {folder}"))
    } else {
        SetupCheck::failed("lock", format!("another connector uses {folder}"), "stop it, or wait for it").as_warning()
    }
}
