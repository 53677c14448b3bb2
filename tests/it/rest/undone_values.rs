//! Undo compares values: it is refused where a value is not the one that the entry set, and only there. Writes that change
//! nothing leave no entry.

use fairshared::service::Role;
use serde_json::{Value, json};

use super::support::{Answer, Server, create_key, group, newest, undo};
use crate::support::database::TestDb;
use crate::support::fixture::{Fixture, GROUP, admin, id, kernel, with};
use crate::support::on_both;

/// Sends a change that must be made. Returns its entry.
async fn change(server: &Server, method: &str, path: &str, body: &Value) -> i64 {
    let answer = server.call(method, path, Some(body)).await;
    assert!(answer.status.is_success(), "{method} {path} {body}: {}", String::from_utf8_lossy(&answer.bytes));
    newest(server).await
}

/// A server whose users have used something on each of three weeks.
async fn with_weeks_of_usage(db: TestDb) -> Server {
    let fixture = Fixture::new(db, "2025-12-24T00:00:00Z").await;
    let key = create_key(&fixture, Role::Admin, None).await;
    let server = Server::over(fixture, key);
    server.agent("node-01", &json!({"cpu": "100"})).await;
    let job = |name: &str, start: &str, cpu: &str| {
        with(kernel(name, name, "vision", start), &json!({"occupied_slots": {"cpu": cpu}}))
    };
    let ended = json!({"status": "TERMINATED", "terminated_at": "2026-01-02T06:00:00Z"});
    for day in ["2025-12-28", "2026-01-05", "2026-01-13"] {
        server.clock.set(&format!("{day}T12:00:00Z"));
        server.ingest(&[job("alice", "2025-12-25T06:00:00Z", "20"), job("bob", "2026-01-01T00:00:00Z", "5")]).await;
        server.ingest(&[with(job("carol", "2025-12-26T18:00:00Z", "30"), &ended)]).await;
        server.tick().await;
    }
    server
}

/// A value that can be set and read.
struct Setting {
    name: &'static str,
    method: &'static str,
    path: String,
    /// The request that sets the value to a number.
    body: fn(u32) -> Value,
    read: String,
    pointer: &'static str,
}

impl Setting {
    async fn set(&self, server: &Server, value: u32) -> i64 {
        change(server, self.method, &self.path, &(self.body)(value)).await
    }

    async fn value(&self, server: &Server) -> Value {
        let found = server.get(&self.read).await;
        found.pointer(self.pointer).unwrap_or_else(|| panic!("{}: {found}", self.name)).clone()
    }
}

fn settings() -> Vec<Setting> {
    let moved = |n: u32| json!({"projects": [{"project_id": id("vision"), "domain_name": format!("domain-{n}")}], "apply": true});
    let options = || (group("/scheduler-options"), group("/scheduler-options"));
    let weight = |n: u32| json!({"items": [{"target_type": "domain", "target_id": "research", "weight": n}]});
    let of_user = |n: u32| json!({"items": [{"target_type": "user", "target_id": id("alice"), "project_id": id("vision"), "weight": n}]});
    vec![
        Setting {
            name: "weight of a domain",
            method: "PUT",
            path: group("/fair-share-weights"),
            body: weight,
            read: group("/fair-share-weights"),
            pointer: "/items/0/weight",
        },
        Setting {
            name: "weight of a user",
            method: "PUT",
            path: group("/fair-share-weights"),
            body: of_user,
            read: group("/fair-share-weights"),
            pointer: "/items/0/weight",
        },
        Setting {
            name: "option",
            method: "PATCH",
            path: options().0,
            body: |n| json!({"scheduler_opts": {"half_life_days": n}}),
            read: options().1,
            pointer: "/scheduler_opts/half_life_days",
        },
        Setting {
            name: "option as text",
            method: "PATCH",
            path: options().0,
            body: |n| json!({"scheduler_opts": {"default_weight": format!("{n}.0")}}),
            read: options().1,
            pointer: "/scheduler_opts/default_weight",
        },
        Setting {
            name: "weight of a slot",
            method: "PATCH",
            path: options().0,
            body: |n| json!({"scheduler_opts": {"resource_weights": {"cpu": n}}}),
            read: options().1,
            pointer: "/scheduler_opts/resource_weights/cpu",
        },
        Setting {
            name: "queue",
            method: "PUT",
            path: group("/queues/q"),
            body: |n| json!({"priority": n}),
            read: group("/queues/q"),
            pointer: "/priority",
        },
        Setting {
            name: "domain of a project",
            method: "POST",
            path: group("/fair-share-simulations"),
            body: moved,
            read: format!("/projects/{}", id("vision")),
            pointer: "/domain_name",
        },
    ]
}

/// The entry and the actor that a refusal names.
fn author(refusal: &Answer) -> (Value, Value) {
    assert_eq!(refusal.refused(409, "changed_since"), [""; 0]);
    let problem = refusal.json(409);
    (problem["audit_id"].clone(), problem["actor"].clone())
}

on_both! {
    async fn a_value_that_is_what_the_entry_left_is_undone_whatever_came_between(db: TestDb) {
        let server = Server::with_usage(db).await;
        let other = create_key(&server, Role::Admin, None).await;
        let actor = json!("admin");
        for setting in settings() {
            setting.set(&server, 1).await;
            let one = setting.value(&server).await;
            let second = setting.set(&server, 2).await;
            let two = setting.value(&server).await;
            let third = setting.set(&server, 3).await;
            // Present is 3: the second entry is refused, by the third.
            assert_eq!(author(&undo(&server, second).await), (json!(third), actor.clone()), "{}", setting.name);
            // Set 2, set 3, undo, undo.
            undo(&server, third).await.json(200);
            assert_eq!(setting.value(&server).await, two, "{}", setting.name);
            undo(&server, second).await.json(200);
            assert_eq!(setting.value(&server).await, one, "{}", setting.name);
            // Set 2, set 3, set 2 by hand, undo of the first.
            let second = setting.set(&server, 2).await;
            setting.set(&server, 3).await;
            setting.set(&server, 2).await;
            undo(&server, second).await.json(200);
            assert_eq!(setting.value(&server).await, one, "{}", setting.name);
            // A third party changed it last, and is named.
            let second = setting.set(&server, 2).await;
            server.call_as(&other, setting.method, &setting.path, Some(&(setting.body)(9))).await;
            let last = newest(&server).await;
            assert_eq!(author(&undo(&server, second).await).0, json!(last), "{}", setting.name);
            undo(&server, last).await.json(200);
            undo(&server, second).await.json(200);
            assert_eq!(setting.value(&server).await, one, "{}", setting.name);
        }
    }

    async fn values_inside_of_one_option_are_undone_each_alone(db: TestDb) {
        let server = Server::with_usage(db).await;
        let patch = async |opts: Value| {
            change(&server, "PATCH", &group("/scheduler-options"), &json!({"scheduler_opts": opts})).await
        };
        let opts = async || server.get(&group("/scheduler-options")).await["scheduler_opts"].clone();
        let start = opts().await;
        let cpu = patch(json!({"resource_weights": {"cpu": "2"}})).await;
        let mem = patch(json!({"resource_weights": {"mem": "3"}})).await;
        undo(&server, cpu).await.json(200);
        assert_eq!(opts().await["resource_weights"], json!({"mem": "3"}));
        undo(&server, mem).await.json(200);
        assert_eq!(opts().await, start);
        // The refusal names the value, and the entry that changed it and not only its neighbour.
        let cpu = patch(json!({"resource_weights": {"cpu": "2"}})).await;
        let again = patch(json!({"resource_weights": {"cpu": "4"}})).await;
        patch(json!({"resource_weights": {"mem": "1"}})).await;
        let refusal = undo(&server, cpu).await;
        assert_eq!(author(&refusal).0, json!(again));
        let detail = refusal.json(409)["detail"].as_str().unwrap().to_owned();
        assert!(detail.starts_with("option:resource_weights/cpu was changed since the entry"), "{detail}");
        // The same amount written otherwise is the same value.
        let second = patch(json!({"default_weight": "2"})).await;
        patch(json!({"default_weight": "3"})).await;
        patch(json!({"default_weight": "2.0"})).await;
        undo(&server, second).await.json(200);
        assert_eq!(opts().await["default_weight"], start["default_weight"]);
    }

    async fn a_queue_that_was_removed_and_made_again_is_undone(db: TestDb) {
        let server = Server::new(db).await;
        let (path, body) = (group("/queues/q"), json!({"quota": {"cpu": "4"}}));
        let made = change(&server, "PUT", &path, &body).await;
        let raised = change(&server, "PUT", &path, &json!({"quota": {"cpu": "8"}})).await;
        for written in [json!({"quota": {"cpu": "8"}}), body] {
            server.clock.advance_seconds(60);
            assert_eq!(server.call("DELETE", &path, None).await.status, 204);
            change(&server, "PUT", &path, &written).await;
            if written["quota"]["cpu"] == "8" {
                let age = server.get(&path).await["created_at"].clone();
                undo(&server, raised).await.json(200);
                let queue = server.get(&path).await;
                assert_eq!((&queue["quota"]["cpu"], &queue["created_at"]), (&json!("4"), &age));
            }
        }
        undo(&server, made).await.json(200);
        server.call("GET", &path, None).await.refused(404, "unknown_queue");
    }

    // An undo after a purge restores what it says: shares are those of before.
    async fn a_look_back_and_a_decay_unit_are_undone_after_a_purge(db: TestDb) {
        let server = with_weeks_of_usage(db).await;
        let shares = async || {
            let status = server.get(&group("/fair-share-status")).await;
            let mut items = status["items"].as_array().unwrap().clone();
            for item in &mut items {
                item.as_object_mut().unwrap().remove("updated_at");
            }
            items
        };
        let before = shares().await;
        let opts = json!({"scheduler_opts": {"decay_unit_days": 3, "lookback_days": 3}});
        let entry = change(&server, "PATCH", &group("/scheduler-options"), &opts).await;
        assert_ne!(shares().await, before);
        let (records, _) = server.service.purge(GROUP, 1_000).await.unwrap();
        assert!(records > 0);
        let undone = undo(&server, entry).await.json(200);
        assert_eq!(shares().await, before);
        assert_eq!(undone["warnings"], json!([]), "{undone}");
        // Run times of purged records do not come back (FAIR_SHARE §10); all else does.
        assert_eq!(server.service.audit_conservation(&admin(), GROUP).await.unwrap().difference, None);
    }

    async fn usage_that_is_gone_for_good_is_named_by_preview_patch_and_undo(db: TestDb) {
        let server = with_weeks_of_usage(db).await;
        let short = json!({"scheduler_opts": {"lookback_days": 3}});
        let entry = change(&server, "PATCH", &group("/scheduler-options"), &short).await;
        // Usage older than four days goes, day totals and all.
        let (_, buckets) = server.service.purge(GROUP, 1).await.unwrap();
        assert!(buckets > 0);
        let named = |answer: &Value| {
            let warning = answer["warnings"].as_array().unwrap().iter().find(|warning| warning["code"] == "purged_usage").cloned();
            warning.map(|warning| (warning["pointer"].clone(), warning["detail"].as_str().unwrap().to_owned()))
        };
        let detail = "the look-back of 28 days begins on 2025-12-17, and usage of days before 2026-01-09 was purged \
                      (`keep_buckets_days`): it does not count, and nothing brings it back";
        let expected = Some((json!("/scheduler_opts/lookback_days"), detail.to_owned()));
        assert_eq!(named(&server.get(&group("")).await), None);
        let long = json!({"scheduler_opts": {"lookback_days": 28}});
        let preview = server.call("POST", &group("/fair-share-simulations"), Some(&long)).await.json(200);
        assert_eq!(named(&preview), expected, "{preview}");
        assert_eq!(named(&undo(&server, entry).await.json(200)), expected);
        assert_eq!(named(&server.get(&group("")).await), expected);
        change(&server, "PATCH", &group("/scheduler-options"), &short).await;
        let patched = server.call("PATCH", &group("/scheduler-options"), Some(&long)).await.json(200);
        assert_eq!(named(&patched), expected, "{patched}");
        let asked = server.graphql(&format!("{{ resource_group(name: \"{GROUP}\") {{ warnings {{ code }} }} }}")).await;
        assert_eq!(asked["data"]["resource_group"]["warnings"], json!([{"code": "purged_usage"}]), "{asked}");
    }

    async fn a_write_that_changes_nothing_leaves_no_entry(db: TestDb) {
        let server = Server::with_usage(db).await;
        let queue = json!({"name": "q", "quota": {"cpu": "4"}});
        let agent = json!({"available_slots": {"cpu": "100"}, "labels": {"rack": "a"}});
        let weight = json!({"target_type": "domain", "target_id": "research", "weight": "2"});
        let user = json!({"target_type": "user", "target_id": id("alice"), "project_id": id("vision"), "weight": "3"});
        let writes = [
            ("PUT", group("/fair-share-weights"), json!({"items": [weight]})),
            ("PUT", group("/fair-share-weights"), json!({"items": [weight, user]})),
            ("PATCH", group("/scheduler-options"), json!({"scheduler_opts": {"half_life_days": 3, "resource_weights": {"cpu": "2"}}})),
            ("PUT", group(""), json!({"scheduler_opts": {"half_life_days": 3, "resource_weights": {"cpu": "2"}, "default_weight": "2"}})),
            ("PUT", group("/queues/q"), queue.clone()),
            ("PUT", group("/queues"), json!({"queues": [queue, {"name": "r"}], "prune": true})),
            ("PUT", group("/configuration"), json!({"domains": {"research": "3"}, "queues": [{"name": "s", "priority": 2}]})),
            ("PUT", group("/agents/node-02"), agent.clone()),
            ("PUT", group("/agents/node-02"), json!({"available_slots": {"cpu": "50"}, "schedulable": false})),
            ("PUT", format!("/users/{}", id("alice")), json!({"name": "alice", "display_name": "Alice", "archived": true})),
            ("PUT", format!("/projects/{}", id("vision")), json!({"name": "vision", "domain_name": "research", "archived": true})),
            ("PUT", "/domains/research".to_owned(), json!({"display_name": "Research", "archived": true})),
            ("POST", group("/fair-share-simulations"), json!({"weights": [weight], "scheduler_opts": {"lookback_days": 30}, "apply": true})),
        ];
        for (method, path, body) in writes {
            let entry = change(&server, method, &path, &body).await;
            let total = server.get("/audit-log").await["total"].clone();
            let revision = server.get(&group("")).await["config_revision"].clone();
            server.clock.advance_seconds(1);
            let again = change(&server, method, &path, &body).await;
            assert_eq!((again, server.get("/audit-log").await["total"].clone()), (entry, total), "{method} {path} {body}");
            assert_eq!(server.get(&group("")).await["config_revision"], revision, "{method} {path} {body}");
        }
        // A default that is written out, and an amount that is written otherwise, change nothing.
        let last = newest(&server).await;
        for opts in [json!({"slice_interval_seconds": 300}), json!({"default_weight": "2.0"}), json!({"order": "flat"})] {
            assert_eq!(change(&server, "PATCH", &group("/scheduler-options"), &json!({"scheduler_opts": opts})).await, last, "{opts}");
        }
        // A weight that is only confirmed is not in the entry about the others, and is in the answer.
        let both = json!({"items": [weight, {"target_type": "user", "target_id": id("bob"), "project_id": id("vision"), "weight": "5"}]});
        let answer = server.call("PUT", &group("/fair-share-weights"), Some(&both)).await.json(200);
        assert_eq!(answer["upserted"], 2, "{answer}");
        let entry = server.get("/audit-log?limit=1").await["items"][0].clone();
        assert_eq!(entry["after"], json!({format!("user:{}/{}", id("bob"), id("vision")): "5"}), "{entry}");
    }
}
