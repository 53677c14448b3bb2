//! `keys`: created, limited to users and groups, and refused.

use fairshared::domain::identity;
use fairshared::domain::ids::UserId;
use fairshared::service::Role;
use fairshared::service::people::{KeyUpdate, UserChange};
use serde_json::json;
use uuid::Uuid;

use super::program::run;
use crate::support::fixture::{Fixture, admin, id};
use crate::support::on_both;

on_both! {
    async fn a_key_is_printed_alone_and_lets_its_holder_in(db: TestDb) {
        let f = Fixture::new(db, "2026-01-13T10:00:00Z").await;
        let db = &f.db;
        let created = run(db, ["keys", "create", "--role", "admin", "--label", "ops", "--expires", "2099-01-01T00:00:00Z"]);
        assert!(created.stderr.contains("not shown again"));
        let text = created.ok();
        let key = text.strip_suffix('\n').unwrap();
        assert!(key.starts_with("fsk_") && !key.contains(char::is_whitespace), "{key:?}");
        let holder = f.service.authenticate(key).await.unwrap();
        assert_eq!((&*holder.actor, holder.role), ("ops", Role::Admin));

        let alice = id("alice").to_string();
        let key = run(db, ["keys", "create", "--role", "user", "--label", "alice", "--user", &alice, "--expires", "30d"]).ok();
        assert_eq!(f.service.authenticate(key.trim_end()).await.unwrap().user.unwrap().0, id("alice"));

        let list = run(db, ["keys", "list", "-o", "json"]).json();
        assert_eq!(list["total"], 2);
        let [ops, user] = list["items"].as_array().unwrap().as_slice() else { panic!("{list}") };
        assert_eq!(ops["expires_at"], "2099-01-01T00:00:00Z");
        assert_eq!((user["user_uuid"].as_str(), user["revoked_at"].is_null()), (Some(alice.as_str()), true));
        assert!(!list.to_string().contains("fsk_"));

        let ops_id = ops["id"].as_str().unwrap();
        let kept = run(db, ["keys", "revoke", ops_id]);
        assert_eq!(kept.code, Some(1), "{kept:?}");
        assert!(kept.stderr.contains("is the last valid admin key that reaches all resource groups"), "{kept:?}");
        assert!(kept.stderr.contains("`keys create --role admin`, or repeat with --force"), "{kept:?}");
        assert!(run(db, ["keys", "list", "-o", "json"]).json()["items"][0]["revoked_at"].is_null());
        run(db, ["keys", "revoke", ops_id, "--force"]).ok();
        let list = run(db, ["keys", "list", "-o", "json"]).json();
        assert!(list["items"][0]["revoked_at"].is_string());
        assert_eq!(run(db, ["keys", "revoke", ops_id]).refused(2), format!("there is no valid key {ops_id}"));
        let csv = run(db, ["keys", "list", "-o", "csv"]).ok();
        assert!(csv.starts_with("id,role,label,user_uuid,"), "{csv}");
        assert_eq!(csv.lines().count(), 3);
    }

    async fn a_key_names_its_user_and_its_groups(db: TestDb) {
        let f = Fixture::new(db, "2026-01-13T10:00:00Z").await;
        let create = |user: &str| {
            let args = ["keys", "create", "--role", "user", "--label", user, "--user", user, "--group", "gpu", "--group", "a100"];
            run(&f.db, args)
        };
        let unknown = create("carol");
        assert!(unknown.stderr.starts_with("warning: the key is for the user "), "{unknown:?}");
        let holder = f.service.authenticate(unknown.ok().trim_end()).await.unwrap();
        assert_eq!(holder.user, Some(identity::user("carol")));
        assert_eq!(holder.groups.as_deref(), Some(&["a100".to_owned(), "gpu".to_owned()][..]));
        // An identity provider knows alice by a UUID of its own.
        let named = UserChange { name: KeyUpdate::To("alice".to_owned()), ..UserChange::default() };
        f.service.put_user(admin(), UserId(id("alice")), named).await.unwrap();
        let known = create("alice");
        assert!(!known.stderr.contains("warning"), "{known:?}");
        let holder = f.service.authenticate(known.ok().trim_end()).await.unwrap();
        assert_eq!(holder.user, Some(UserId(id("alice"))));
        let list = run(&f.db, ["keys", "list", "-o", "json"]).json();
        assert_eq!((&list["items"][1]["user_name"], &list["items"][1]["resource_groups"]), (&json!("alice"), &json!(["a100", "gpu"])));
    }

    async fn a_bad_key_is_refused_and_not_made(db: TestDb) {
        let create = |args: &[&str]| run(&db, [&["keys", "create"], args].concat());
        let fault = |args: &[&str]| create(args).refused(2);
        let some = Uuid::nil().to_string();
        assert!(fault(&["--role", "user", "--label", "x"]).starts_with("--user: "));
        assert!(fault(&["--role", "admin", "--label", "x", "--user", &some]).starts_with("--user: "));
        assert!(fault(&["--role", "admin", "--label", ""]).starts_with("--label: "));
        assert!(fault(&["--role", "admin", "--label", "a\nb"]).starts_with("--label: "));
        assert_eq!(
            fault(&["--role", "admin", "--label", "x", "--expires", "2020-01-01T00:00:00Z"]),
            "--expires: `expires_at` has passed already"
        );
        for (args, part) in [
            (&["--role", "root", "--label", "x"][..], "a role is one of admin, scheduler, connector, viewer, user"),
            (&["--role", "user", "--label", "x", "--user", " bob"], "must have 1 to 255 characters"),
            (&["--role", "user", "--label", "x", "--user", "bob", "--group", "a/b"], "must have 1 to 64 characters"),
            (&["--role", "admin", "--label", "x", "--expires", "0d"], "from 1s to 36500d"),
            (&["--role", "admin", "--label", "x", "--expires", "36501d"], "from 1s to 36500d"),
            (&["--role", "admin", "--label", "x", "--expires", "4294967295w"], "from 1s to 36500d"),
            (&["--role", "admin", "--label", "x", "--expires", "99999999999999999999d"], "from 1s to 36500d"),
            (&["--role", "admin", "--label", "x", "--expires", "tomorrow"], "RFC 3339"),
            (&["--role", "admin", "--label", "x", "--expires", "é"], "RFC 3339"),
            (&["--role", "admin"], "--label"),
        ] {
            let ended = create(args);
            assert_eq!(ended.code, Some(2), "{ended:?}");
            assert!(ended.stderr.contains(part), "{ended:?}");
        }
        let revoked = run(&db, ["keys", "revoke", "x"]);
        assert_eq!(revoked.code, Some(2), "{revoked:?}");
        assert!(revoked.stderr.contains("an id of a key is a UUID; `keys list` shows them"), "{revoked:?}");
        assert_eq!(run(&db, ["keys", "list", "-o", "json"]).json()["total"], 0);
        assert_eq!(create(&["--role", "admin", "--label", "x", "--expires", "36500d"]).code, Some(0));
    }

    async fn an_empty_name_is_refused_before_it_is_sent(db: TestDb) {
        run(&db, ["groups", "create", "g"]).ok();
        for args in [&["users", "show", ""][..], &["groups", "show", ""], &["options", "get", ""], &["rank", ""]] {
            assert_eq!(run(&db, args).refused(2), "a name in the request is empty", "{args:?}");
        }
        let again = run(&db, ["groups", "create", "g"]).refused(1);
        assert_eq!(again, "the resource group \"g\" is there already; `options set` changes its options");
    }
}
