//! The sequencers of Slurm over HTTP (FAIR_SHARE §14): rankings, sequences, explanations, warnings and simulations.

use fairshared::service::Role;
use serde_json::{Value, json};

use super::explain::{explain, refused, used};
use super::support::{NOW, Server, group};
use crate::support::fixture::{id, kernel, with};
use crate::support::on_both;

async fn set_scheduler(server: &Server, scheduler: &str, options: &Value) -> Value {
    let body = json!({"scheduler": scheduler, "scheduler_opts": options});
    server.call("PATCH", &group("/scheduler-options"), Some(&body)).await.json(200)
}

/// The users of the ranking with their ranks and factors.
async fn ranking(server: &Server) -> Vec<(String, u64, String)> {
    let status = server.get(&group("/fair-share-status")).await;
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let row = |row: &Value| (text(&row["user_name"]), row["rank"].as_u64().unwrap(), text(&row["fair_share_factor"]));
    status["items"].as_array().unwrap().iter().map(row).collect()
}

fn are(found: &[(String, u64, String)], expected: &[(&str, u64, &str)]) {
    let found: Vec<_> = found.iter().map(|(name, rank, factor)| (name.as_str(), *rank, factor.as_str())).collect();
    assert_eq!(found, expected);
}

fn codes(answer: &Value) -> Vec<&str> {
    answer["warnings"].as_array().into_iter().flatten().map(|warning| warning["code"].as_str().unwrap()).collect()
}

/// Ids of the workloads in their order, each with the reason.
async fn sequence(server: &Server) -> Vec<(String, String)> {
    let workload = |user: &str, project: &str| json!({"workload_id": user, "user": user, "project": project});
    let body = json!({"explain": true, "workloads": [
        workload("alice", "vision"), workload("bob", "vision"), workload("carol", "audio"), workload("dave", "audio"),
    ]});
    let answer = server.call("POST", &group("/sequence"), Some(&body)).await.json(200);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let item = |item: &Value| (text(&item["workload_id"]), text(&item["reason"]["decided_by"]));
    answer["items"].as_array().unwrap().iter().map(item).collect()
}

/// Decayed cpu-hours are 345.3 of alice and 229.9 of bob in vision and research, 334.4 of carol and 187.2 of dave in audio and
/// sales. So sales has used less than research, dave less than carol, and bob less than alice.
const FAIR_TREE: [(&str, u64, &str); 4] =
    [("dave", 1, "1"), ("carol", 2, "0.75"), ("bob", 3, "0.5"), ("alice", 4, "0.25")];

on_both! {
    async fn the_fair_tree_ranks_orders_and_explains(db: TestDb) {
        let server = used(db, &json!({})).await;
        let before = ranking(&server).await;
        set_scheduler(&server, "slurm_fair_tree", &json!({"decay": "slurm"})).await;
        are(&ranking(&server).await, &FAIR_TREE);
        let order = sequence(&server).await;
        let expected = [("dave", "first"), ("carol", "level_fair_share"), ("bob", "level_fair_share"), ("alice", "level_fair_share")];
        assert_eq!(order.iter().map(|(id, why)| (id.as_str(), why.as_str())).collect::<Vec<_>>(), expected);

        let bob = explain(&server, "user=bob").await;
        assert_eq!((&bob["place"], &bob["rank"], &bob["of"], &bob["order"]), (&json!(3), &json!(3), &json!(4), &json!("flat")));
        assert_eq!(bob["formula"]["text"], "2 / 4 users = 0.5");
        assert_eq!(
            bob["summary"],
            "3rd of 4. The factor is 2 / 4 users = 0.5. The scheduler `slurm_fair_tree` counts only the usage of cpu, and divides it by \
             no capacity."
        );
        let levels: Vec<&str> = bob["tree_levels"].as_array().unwrap().iter().map(|level| level["name"].as_str().unwrap()).collect();
        assert_eq!(levels, ["research", "vision", "bob"]);
        let user = &bob["tree_levels"][2];
        assert_eq!((&user["raw_shares"], &user["normalized_shares"], &user["fair_share"]), (&json!("1"), &json!("0.5"), &json!("0.5")));
        // Neighbours name the level at which the two part.
        let (above, below) = (&bob["above"], &bob["below"]);
        assert_eq!((&above["who"]["user_name"], &above["decided_by"]), (&json!("carol"), &json!("domain")));
        let because = above["because"].as_str().unwrap();
        assert!(because.starts_with("below root, sales has the higher LevelFS: that of sales is 1.05"), "{because}");
        assert_eq!((&below["who"]["user_name"], &below["decided_by"]), (&json!("alice"), &json!("user")));
        let because = below["because"].as_str().unwrap();
        assert!(because.starts_with("below vision, alice has the lower LevelFS: that of alice is 0.83"), "{because}");
        // Nothing is claimed about other weights, other usage and other days.
        assert_eq!([&bob["costs"], &bob["if_nothing_is_run"]["next_run"]], [&Value::Null; 2]);
        assert_eq!([&bob["weights_for_places"], &bob["if_nothing_is_run"]["dates"]], [&json!([]); 2]);
        let key = server.key.clone();
        assert_eq!(
            refused(&server, &key, "user=bob&place=1").await,
            (422, "unsupported_scheduler".to_owned(), "/place".to_owned())
        );
        // The slot that counts says how large the part of a day is.
        let parts: Vec<f64> =
            bob["buckets"].as_array().unwrap().iter().map(|bucket| bucket["part"].as_str().unwrap().parse().unwrap()).collect();
        assert!((parts.iter().sum::<f64>() - 1.0).abs() < 1e-9 && parts.len() == 2, "{parts:?}");
        for query in ["domain=sales", "tier=project&project=audio"] {
            let account = explain(&server, query).await;
            assert_eq!((&account["place"], &account["formula"]["fair_share_factor"]), (&json!(1), &account["tree_levels"].as_array().unwrap().last().unwrap()["fair_share"]));
        }
        // Keys of users see only their own user.
        let key = server.key_for(Role::User, Some("bob")).await;
        let own = server.call_as(&key, "GET", &group("/explain"), None).await.json(200);
        assert_eq!((own["formula"].clone(), own["tree_levels"].as_array().unwrap().len()), (bob["formula"].clone(), 1));
        assert!(!["alice", "carol", "dave", "sales"].iter().any(|other| own.to_string().contains(other)), "{own}");
        // The audit finds what is stored as it is calculated, also by a process that reads it again.
        assert_eq!(server.get(&group("/audit")).await["difference"], Value::Null);
        let key = server.key.clone();
        let server = Server::over(server.fixture.restart().await, key);
        are(&ranking(&server).await, &FAIR_TREE);
        // Back again, all is as it was.
        set_scheduler(&server, "fairshare", &json!({"decay": null})).await;
        assert_eq!(ranking(&server).await, before);
        assert!(explain(&server, "user=bob").await.get("tree_levels").is_none());
    }

    async fn the_classic_order_compares_all_users_at_once(db: TestDb) {
        let server = used(db, &json!({})).await;
        let weights = json!({"items": [{"target_type": "user", "target_id": id("alice"), "project_id": id("vision"), "weight": 3}]});
        server.call("PUT", &group("/fair-share-weights"), Some(&weights)).await.json(200);
        set_scheduler(&server, "slurm_classic", &json!({"decay": "slurm"})).await;
        let found = ranking(&server).await;
        let names: Vec<&str> = found.iter().map(|(name, ..)| name.as_str()).collect();
        assert_eq!(names, ["alice", "dave", "carol", "bob"]);
        let alice = explain(&server, "user=alice").await;
        let level = &alice["tree_levels"][2];
        let number = |key: &str| level[key].as_str().unwrap().parse::<f64>().unwrap();
        let factor = (-(number("effective_usage") / number("normalized_shares"))).exp2();
        assert!((factor - number("fair_share")).abs() < 1e-9);
        assert_eq!(level["normalized_shares"], "0.375");
        assert_eq!(alice["formula"]["text"].as_str().unwrap(), format!("2 ^ -({} / 0.375) = {}", level["effective_usage"].as_str().unwrap(), level["fair_share"].as_str().unwrap()));
        let because = alice["below"]["because"].as_str().unwrap();
        assert!(because.starts_with("the user has more effective usage for the normalised shares: "), "{because}");
        assert_eq!(sequence(&server).await[1], ("dave".to_owned(), "fair_share".to_owned()));
        // Right below the root an account has its own part of all usage.
        let sales = explain(&server, "domain=sales").await;
        assert_eq!(sales["tree_levels"][0]["effective_usage"], sales["tree_levels"][0]["normalized_usage"]);
    }

    async fn one_change_moves_others_and_is_simulated_like_it(db: TestDb) {
        let server = used(db, &json!({})).await;
        set_scheduler(&server, "slurm_fair_tree", &json!({"decay": "slurm"})).await;
        let weights = json!([{"target_type": "domain", "target_id": "research", "weight": "2"}]);
        let simulated = server.call("POST", &group("/fair-share-simulations"), Some(&json!({"weights": weights}))).await.json(200);
        server.call("PUT", &group("/fair-share-weights"), Some(&json!({"items": weights}))).await.json(200);
        are(&ranking(&server).await, &[("bob", 1, "1"), ("alice", 2, "0.75"), ("dave", 3, "0.5"), ("carol", 4, "0.25")]);
        let text = simulated.to_string();
        assert!(text.contains("\"0.75\"") && text.contains("\"0.25\""), "{simulated:#}");
        // A user who joins changes the factors of all, and one run of one user may change the ranks of others.
        let more = json!({"occupied_slots": {"cpu": "1"}, "user_name": "emil", "project_name": "audio", "domain_name": "sales"});
        assert!(server.ingest(&[with(kernel("e1", "emil", "audio", NOW), &more)]).await.is_empty());
        server.clock.advance_seconds(300);
        server.tick().await;
        let found = ranking(&server).await;
        assert_eq!(found.len(), 5);
        assert!(found.iter().any(|(_, rank, factor)| (*rank, factor.as_str()) == (1, "1")), "{found:?}");
        assert!(found.iter().all(|(_, _, factor)| ["1", "0.8", "0.6", "0.4", "0.2"].contains(&factor.as_str())), "{found:?}");
        assert_eq!(server.get(&group("/audit")).await["difference"], Value::Null);
    }

    async fn another_decay_is_warned_of_and_progressive_is_refused(db: TestDb) {
        let server = used(db, &json!({})).await;
        assert_eq!(codes(&set_scheduler(&server, "slurm_fair_tree", &json!({})).await), ["unlike_slurm"]);
        assert_eq!(codes(&set_scheduler(&server, "slurm_classic", &json!({"decay": "slurm"})).await), [""; 0]);
        let body = json!({"mode": "progressive", "workloads": []});
        let answer = server.call("POST", &group("/sequence"), Some(&body)).await;
        assert_eq!(answer.json(422)["errors"][0]["code"], "unsupported_mode");
        let answer = set_scheduler(&server, "slurm_classic", &json!({"sequence_mode": "progressive"})).await;
        assert_eq!(codes(&answer), ["mode_without_effect"]);
        // `order` counts for `fairshare` only.
        set_scheduler(&server, "slurm_fair_tree", &json!({"order": "tiered", "sequence_mode": null})).await;
        are(&ranking(&server).await, &FAIR_TREE);
        assert_eq!(explain(&server, "user=dave").await["place"], 1);
    }
}
