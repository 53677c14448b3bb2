//! The checks of `--check` about the server.

use fairshared::connectors::server_checks::compare_clocks;

use crate::support::time;

#[test]
fn clocks_that_differ_are_a_warning() {
    for (here, detail) in [
        ("2026-01-13T12:00:00Z", None),
        ("2026-01-13T12:00:10Z", None),
        ("2026-01-13T11:59:50Z", None),
        ("2026-01-13T12:10:00Z", Some("the clocks of this machine and of the server differ by 600 seconds")),
        ("2026-01-13T11:50:00Z", Some("the clocks of this machine and of the server differ by 600 seconds")),
    ] {
        let check = compare_clocks(time("2026-01-13T12:00:00Z"), time(here));
        assert_eq!((!check.ok).then_some(&*check.detail), detail, "{here}: {check:?}");
    }
}
