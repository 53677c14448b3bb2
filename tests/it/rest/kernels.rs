//! Ingest and its results.

use axum::body::Body;
use futures::stream;
use serde_json::{Value, json};

use super::support::{Server, group};
use crate::support::fixture::{id, kernel, with};
use crate::support::on_both;

const NDJSON: &str = "application/x-ndjson";

fn running(name: &str) -> Value {
    kernel(name, "alice", "vision", "2026-01-13T10:00:00Z")
}

fn lines(rows: &[Value]) -> String {
    rows.iter().fold(String::new(), |text, row| text + &row.to_string() + "\n")
}

fn of_unknown_length(body: String) -> Body {
    Body::from_stream(stream::iter([Ok::<_, std::io::Error>(body)]))
}

on_both! {
    async fn array_object_and_stream_are_taken_any_number_of_times(db: TestDb) {
        let server = Server::new(db).await;
        let path = group("/kernels");
        let taken = |accepted: u64, changed: u64| json!({"accepted": accepted, "changed": changed, "rejected": 0, "errors": []});
        let array = json!([running("a"), running("b")]);
        assert_eq!(server.call("POST", &path, Some(&array)).await.json(200), taken(2, 2));
        assert_eq!(server.call("POST", &path, Some(&running("c"))).await.json(200), taken(1, 1));
        let stream = server.raw("POST", &path, NDJSON, lines(&[running("d"), running("e")])).await;
        assert_eq!(stream.json(200), taken(2, 2));
        let before = server.get(&path).await;
        assert_eq!(before["total"], 5);
        assert_eq!(server.call("POST", &path, Some(&array)).await.json(200), taken(2, 0));
        assert_eq!(server.get(&path).await, before);
        // The end comes later, then the start again: the end stands.
        let end = json!({"status": "TERMINATED", "terminated_at": "2026-01-13T11:00:00Z"});
        server.call("POST", &path, Some(&with(running("a"), &end))).await.json(200);
        server.call("POST", &path, Some(&running("a"))).await.json(200);
        server.tick().await;
        let one = server.get(&format!("{path}/{}", id("a"))).await;
        assert_eq!(one["status"], "TERMINATED");
        assert_eq!(one["slices"], json!([{
            "period_start": "2026-01-13T10:00:00Z", "period_end": "2026-01-13T11:00:00Z", "resource_usage": {"cpu": "3600"},
            "charge_class": "", "compacted": false,
        }]));
        assert_eq!(one["last_usage_recorded_at"], "2026-01-13T11:00:00Z");
        server.assert_conserved().await;
        let entry = server.get("/audit-log?action=kernels.ingest&limit=1").await["items"][0].clone();
        assert_eq!(entry["after"], json!({"accepted": 9, "rejected": 0}), "{entry}");
        assert_eq!(entry["resource_group"], "gpu-cluster");
    }

    async fn broken_rows_are_named_and_the_others_kept(db: TestDb) {
        let server = Server::new(db).await;
        let broken = [
            (json!({"occupied_slots": {"cpu": "-1"}}), "/occupied_slots/cpu", "invalid_value"),
            (json!({"occupied_slots": {"cpu": "1".repeat(60)}}), "/occupied_slots/cpu", "invalid_value"),
            (json!({"occupied_slots": {"cpu": "NaN"}}), "/occupied_slots/cpu", "invalid_value"),
            (json!({"status": "TERMINATED", "terminated_at": "2026-01-13T09:00:00Z"}), "/terminated_at", "end_before_start"),
            (json!({"status": {"current": "RUNNING"}}), "/status", "invalid_type"),
            (json!({"started_at": "noon"}), "/started_at", "invalid_value"),
            (json!({"started_at": null}), "/started_at", "required"),
            (json!({"user_uuid": "alice"}), "/user_uuid", "invalid_uuid"),
            (json!({"domain_name": "a/b"}), "/domain_name", "invalid_name"),
            (json!({"colour": "red"}), "/colour", "unknown_field"),
            (json!({"priority": "high"}), "/priority", "invalid_type"),
        ];
        let mut rows = vec![running("first")];
        for (at, (changes, ..)) in broken.iter().enumerate() {
            rows.push(with(running(&format!("broken{at}")), changes));
        }
        rows.push(running("last"));
        let answer = server.call("POST", &group("/kernels"), Some(&json!(rows))).await.json(200);
        assert_eq!((&answer["accepted"], &answer["rejected"]), (&json!(2), &json!(broken.len())));
        for (at, (error, (changes, pointer, code))) in answer["errors"].as_array().unwrap().iter().zip(&broken).enumerate() {
            assert_eq!(error["index"], at + 1, "{changes}");
            assert_eq!(error["kernel_id"], json!(id(&format!("broken{at}"))), "{changes}");
            let fault = &error["errors"][0];
            assert_eq!((&fault["pointer"], &fault["code"]), (&json!(pointer), &json!(code)), "{changes}: {fault}");
        }
        assert_eq!(server.get(&group("/kernels")).await["total"], 2);
        // An array whose row contradicts what is known.
        let moved = with(running("first"), &json!({"user_uuid": id("bob")}));
        let answer = server.call("POST", &group("/kernels"), Some(&json!([moved]))).await.json(200);
        assert_eq!(answer["errors"][0]["errors"][0]["code"], "conflict");
        assert_eq!(answer["errors"][0]["index"], 0);
    }

    async fn broken_lines_are_named_and_the_others_kept(db: TestDb) {
        let server = Server::new(db).await;
        let mut body = Vec::new();
        body.extend_from_slice(running("one").to_string().as_bytes());
        body.extend_from_slice(b"\r\n\n{\"kernel_id\": \n\xff\xfe\nnull\n");
        body.extend(std::iter::repeat_n(b'x', (1 << 20) + 1));
        body.push(b'\n');
        body.extend("[".repeat(5_000).bytes());
        body.push(b'\n');
        body.extend_from_slice(running("two").to_string().as_bytes());
        // However the network cuts it.
        for size in [7, 4096, usize::MAX] {
            let chunks: Vec<_> = body.chunks(size.min(body.len())).map(<[u8]>::to_vec).collect();
            let stream = stream::iter(chunks.into_iter().map(Ok::<_, std::io::Error>));
            let answer = server.raw("POST", &group("/kernels"), NDJSON, Body::from_stream(stream)).await.json(200);
            assert_eq!((&answer["accepted"], &answer["rejected"]), (&json!(2), &json!(5)));
            let errors = answer["errors"].as_array().unwrap();
            let found: Vec<_> = errors.iter().map(|e| (e["line"].as_u64().unwrap(), e["errors"][0]["code"].as_str().unwrap())).collect();
            let expected =
                [(3, "malformed_json"), (4, "invalid_utf8"), (5, "invalid_type"), (6, "too_large"), (7, "too_deep")];
            assert_eq!(found, expected);
        }
        assert_eq!(server.get(&group("/kernels")).await["total"], 2);
    }

    async fn a_stream_that_breaks_off_keeps_its_whole_lines(db: TestDb) {
        let server = Server::new(db).await;
        let whole = lines(&[running("one"), running("two")]);
        let parts = vec![Ok(whole), Ok("{\"kernel_id\"".to_owned()), Err(std::io::Error::other("gone"))];
        let body = Body::from_stream(stream::iter(parts));
        server.raw("POST", &group("/kernels"), NDJSON, body).await.refused(400, "incomplete_body");
        assert_eq!(server.get(&group("/kernels")).await["total"], 2);
        let entry = server.get("/audit-log?limit=1").await["items"][0].clone();
        assert_eq!((&entry["action"], &entry["after"]), (&json!("kernels.ingest"), &json!({"accepted": 2, "rejected": 0})));
    }

    async fn more_rows_than_a_batch(db: TestDb) {
        let server = Server::new(db).await;
        let count = fairshared::engine::ingest::batch::BATCH_KERNELS + 3;
        let rows: Vec<Value> = (0..count).map(|n| running(&format!("n{n}"))).collect();
        let answer = server.raw("POST", &group("/kernels"), NDJSON, of_unknown_length(lines(&rows))).await.json(200);
        assert_eq!((&answer["accepted"], &answer["rejected"]), (&json!(count), &json!(0)));
        assert_eq!(server.get(&group("/kernels?limit=1")).await["total"], count);
        // A conflict in the second batch is named by its own line.
        let last = with(running(&format!("n{}", count - 1)), &json!({"user_uuid": id("bob")}));
        let mut again = rows;
        again[count - 1] = last;
        let answer = server.raw("POST", &group("/kernels"), NDJSON, of_unknown_length(lines(&again))).await.json(200);
        assert_eq!(answer["errors"][0]["line"], count);
        assert_eq!(answer["errors"][0]["kernel_id"], json!(id(&format!("n{}", count - 1))));
    }

    async fn lists_are_filtered(db: TestDb) {
        let server = Server::with_usage(db).await;
        let end = json!({"status": "TERMINATED", "terminated_at": "2026-01-13T11:00:00Z"});
        server.call("POST", &group("/kernels"), Some(&with(running("done"), &end))).await.json(200);
        let (alice, vision) = (id("alice"), id("vision"));
        for (filter, names) in [
            (format!("user_uuid={alice}"), vec!["k1", "done"]), (format!("project_id={vision}"), vec!["k1", "k2", "done"]),
            ("domain_name=sales".into(), vec!["k3"]), ("status=TERMINATED".into(), vec!["done"]),
            (format!("status=running&user_uuid={alice}"), vec!["k1"]), (format!("user_uuid={}", id("nobody")), vec![]),
        ] {
            let found = server.get(&group(&format!("/kernels?{filter}"))).await;
            let mut ids: Vec<_> = names.into_iter().map(|n| json!(id(n))).collect();
            ids.sort_by_key(Value::to_string);
            let items: Vec<_> = found["items"].as_array().unwrap().iter().map(|k| k["kernel_id"].clone()).collect();
            assert_eq!(items, ids, "{filter}");
            assert_eq!(found["total"], ids.len(), "{filter}");
        }
    }
}

on_both! {
    async fn a_dry_run_tells_what_would_become_of_each_row_and_stores_nothing(db: TestDb) {
        let server = Server::new(db).await;
        let path = group("/kernels?dry_run=true");
        let moved = with(running("a"), &json!({"user_uuid": id("bob")}));
        let rows = [running("a"), moved, with(running("b"), &json!({"status": "TERMINATED"}))];
        let answer = server.call("POST", &path, Some(&json!(rows))).await.json(200);
        assert_eq!((&answer["accepted"], &answer["rejected"]), (&json!(1), &json!(2)));
        let codes: Vec<&Value> = answer["errors"].as_array().unwrap().iter().map(|e| &e["errors"][0]["code"]).collect();
        assert_eq!(codes, ["conflict", "required"]);
        assert_eq!(server.get(&group("/kernels")).await["total"], 0);
        assert_eq!(server.get("/audit-log?action=kernels.ingest").await["total"], 0);
        // The same rows for good, and then against what is known.
        let stored = server.call("POST", &group("/kernels"), Some(&json!(rows))).await.json(200);
        assert_eq!(stored, with(answer, &json!({"changed": 1})));
        let stream = server.raw("POST", &path, NDJSON, lines(&[rows[1].clone()])).await.json(200);
        assert_eq!((&stream["rejected"], &stream["errors"][0]["line"]), (&json!(1), &json!(1)));
        server.call("POST", &group("/kernels?dry_run=maybe"), Some(&json!([]))).await.refused(422, "invalid_value");
    }

    async fn an_array_in_pieces_is_one_array(db: TestDb) {
        let server = Server::new(db).await;
        let rows = json!([running("a"), with(running("b"), &json!({"agent_id": "no/,[de]\"}\\"})), running("c"), 7]);
        let body = serde_json::to_vec_pretty(&rows).unwrap();
        for size in [1, 7, 4096] {
            let chunks: Vec<_> = body.chunks(size).map(<[u8]>::to_vec).collect();
            let stream = stream::iter(chunks.into_iter().map(Ok::<_, std::io::Error>));
            let answer = server.raw("POST", &group("/kernels"), "application/json", Body::from_stream(stream)).await.json(200);
            let errors: Vec<_> = answer["errors"].as_array().unwrap().iter().map(|e| (&e["index"], &e["errors"][0]["code"])).collect();
            assert_eq!(errors, [(&json!(1), &json!("invalid_name")), (&json!(3), &json!("invalid_type"))], "{size}");
            assert_eq!(answer["accepted"], 2);
        }
    }

    async fn of_a_broken_array_only_whole_batches_are_taken(db: TestDb) {
        let server = Server::new(db).await;
        let whole = running("a").to_string();
        for broken in [
            format!("[{whole}"), format!("[{whole},"), format!("[{whole},]"), format!("[,{whole}]"), format!("[{whole}}}]"),
            format!("[{whole}] x"), format!("[{whole},nul]"), format!("[{whole} {whole}]"), format!("[{whole},\"]"),
        ] {
            server.raw("POST", &group("/kernels"), "application/json", broken).await.refused(400, "malformed_json");
        }
        let cut = stream::iter(vec![Ok(format!("[{whole},")), Err(std::io::Error::other("gone"))]);
        let cut = server.raw("POST", &group("/kernels"), "application/json", Body::from_stream(cut)).await;
        cut.refused(400, "incomplete_body");
        assert_eq!(server.get(&group("/kernels")).await["total"], 0);
        let count = fairshared::engine::ingest::batch::BATCH_KERNELS;
        let rows: Vec<String> = (0..count + 2).map(|n| running(&format!("n{n}")).to_string()).collect();
        // The length of a body determines how much of it one transaction stores.
        let broken = format!("[{}, nul]", rows.join(","));
        server.raw("POST", &group("/kernels"), "application/json", broken.clone()).await.refused(400, "malformed_json");
        assert_eq!(server.get(&group("/kernels?limit=1")).await["total"], 0);
        let answer = server.raw("POST", &group("/kernels"), "application/json", of_unknown_length(broken)).await;
        answer.refused(400, "malformed_json");
        let detail = answer.json(400)["detail"].as_str().unwrap().to_owned();
        assert!(detail.ends_with(&format!("the first {count} elements were taken")), "{detail}");
        assert_eq!(server.get(&group("/kernels?limit=1")).await["total"], count);
        let long = format!("[{whole}, \"{}\"]", "x".repeat(1 << 20));
        let answer = server.raw("POST", &group("/kernels"), "application/json", long).await.json(200);
        assert_eq!((&answer["errors"][0]["index"], &answer["errors"][0]["errors"][0]["code"]), (&json!(1), &json!("too_large")));
    }

    async fn words_and_quantities_of_kubernetes_and_slurm_are_taken(db: TestDb) {
        let server = Server::new(db).await;
        let agent = json!({"available_slots": {"cpu": "64", "mem": "512Gi"}});
        let agent = server.call("PUT", &group("/agents/node"), Some(&agent)).await.json(201);
        assert_eq!(agent["available_slots"]["mem"], "549755813888");
        let pod = with(running("pod"), &json!({"status": "Running", "occupied_slots": {"cpu": "500m", "mem": "64Gi", "x": "1e3"}}));
        let late = with(running("job"), &json!({"status": "NODE_FAIL"}));
        let unknown = with(running("lost"), &json!({"status": "Unknown"}));
        let wrong = with(running("odd"), &json!({"occupied_slots": {"cpu": "1e-13"}}));
        let mute = with(running("mute"), &json!({"status": "SUSPENDED"}));
        let early = with(running("early"), &json!({"status": "S", "status_at": "2026-01-13T09:59:59Z"}));
        let answer = server.call("POST", &group("/kernels"), Some(&json!([pod, late, unknown, wrong, mute, early]))).await.json(200);
        let errors: Vec<_> = answer["errors"].as_array().unwrap().iter()
            .map(|e| (e["index"].as_u64().unwrap(), e["errors"][0]["pointer"].as_str().unwrap(), e["errors"][0]["code"].as_str().unwrap()))
            .collect();
        assert_eq!(errors, [
            (1, "/terminated_at", "required"), (3, "/occupied_slots/cpu", "invalid_value"), (4, "/status_at", "required"),
            (5, "/status_at", "contradiction"),
        ]);
        let pod = server.get(&group(&format!("/kernels/{}", id("pod")))).await;
        assert_eq!(pod["occupied_slots"], json!({"cpu": "0.5", "mem": "68719476736", "x": "1000"}));
        assert_eq!((&pod["status"], &pod["status_at"], &pod["suspensions"]), (&json!("RUNNING"), &json!(null), &json!([])));
        // An unknown status makes no kernel.
        assert_eq!(server.call("GET", &group(&format!("/kernels/{}", id("lost"))), None).await.status, 404);
        let paused = with(running("pod"), &json!({"status": "SUSPENDED", "status_at": "2026-01-13T11:00:00Z"}));
        server.call("POST", &group("/kernels"), Some(&paused)).await.json(200);
        let pod = server.get(&group(&format!("/kernels/{}", id("pod")))).await;
        assert_eq!((&pod["status"], &pod["status_at"]), (&json!("SUSPENDED"), &json!("2026-01-13T11:00:00Z")));
        assert_eq!(pod["suspensions"], json!([{"from": "2026-01-13T11:00:00Z", "until": null}]));
        assert_eq!(server.get(&group("/kernels?status=suspended")).await["total"], 1);
    }
}
