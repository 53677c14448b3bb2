//! Reports of kernels in the forms that schedulers print: statuses, times, runtimes and memory.

use serde_json::{Value, json};

use super::support::{Answer, Server, group};
use crate::support::fixture::{id, kernel, with};
use crate::support::on_both;

const START: &str = "2026-01-13T10:00:00Z";
const START_SECONDS: u64 = 1_768_298_400;

fn running(name: &str) -> Value {
    kernel(name, "alice", "vision", START)
}

fn pending(name: &str) -> Value {
    with(running(name), &json!({"status": "PENDING", "started_at": null}))
}

/// The report of a kernel that ended at 11:00.
fn ended(name: &str, status: &Value) -> Value {
    with(running(name), &json!({"status": status, "terminated_at": "2026-01-13T11:00:00Z"}))
}

async fn post(server: &Server, rows: &[Value]) -> Value {
    server.call("POST", &group("/kernels"), Some(&json!(rows))).await.json(200)
}

/// The answer to rows that the OpenAPI document need not allow.
async fn post_odd(server: &Server, body: impl Into<String>) -> Answer {
    server.raw("POST", &group("/kernels"), "application/json", body.into()).await
}

async fn stored(server: &Server, name: &str) -> Value {
    server.get(&group(&format!("/kernels/{}", id(name)))).await
}

/// Pointer and code of the first fault of the only rejected row.
fn only_fault(answer: &Value) -> (&str, &str) {
    assert_eq!((&answer["accepted"], &answer["rejected"]), (&json!(0), &json!(1)), "{answer}");
    let fault = &answer["errors"][0]["errors"][0];
    (fault["pointer"].as_str().unwrap(), fault["code"].as_str().unwrap())
}

on_both! {
    async fn statuses_are_read_as_schedulers_print_them(db: TestDb) {
        let server = Server::new(db).await;
        let suspended = json!({"status_at": "2026-01-13T10:30:00Z"});
        for (at, (status, expected)) in [
            (json!("CANCELLED by 1000"), "TERMINATED"), (json!("CANCELLED by alice"), "TERMINATED"),
            (json!("CANCELLED+"), "TERMINATED"), (json!("OUT_OF_ME+"), "TERMINATED"), (json!("LAUNCH_FAILED"), "TERMINATED"),
            (json!(["FAILED", "LAUNCH_FAILED"]), "TERMINATED"), (json!(["NODE_FAIL", "REQUEUED"]), "TERMINATED"),
            (json!("PENDING,REVOKED"), "TERMINATED"), (json!("REMOVED"), "TERMINATED"),
            (json!(["RUNNING", "COMPLETING"]), "RUNNING"), (json!("RUNNING,COMPLETING"), "RUNNING"),
            (json!("COMPLETING,FAILED"), "RUNNING"), (json!(["RUNNING", "CONFIGURING", "POWER_UP_NODE"]), "RUNNING"),
            (json!(["RUNNING"]), "RUNNING"), (json!("  running "), "RUNNING"), (json!("TRANSFERRING_OUTPUT"), "RUNNING"),
            (json!("CrashLoopBackOff"), "RUNNING"), (json!(["COMPLETED,STAGE_OUT"]), "RUNNING"),
            (json!(["SUSPENDED", "STOPPED"]), "SUSPENDED"),
            (json!("IDLE"), "PENDING"), (json!("Held"), "PENDING"), (json!(["PENDING", "REQUEUED"]), "PENDING"),
            (json!("REQUEUE_+"), "PENDING"), (json!("ContainerCreating"), "PENDING"), (json!(["PENDING", "LAUNCH_FAILED"]), "PENDING"),
            (json!(["REQUEUED", "SPECIAL_EXIT"]), "PENDING"),
        ].into_iter().enumerate() {
            let name = format!("k{at}");
            let row = match expected {
                "TERMINATED" => ended(&name, &status),
                "PENDING" => with(pending(&name), &json!({"status": status})),
                "SUSPENDED" => with(with(running(&name), &json!({"status": status})), &suspended),
                _ => with(running(&name), &json!({"status": status})),
            };
            let answer = post(&server, &[row]).await;
            assert_eq!((&answer["accepted"], answer.get("warnings")), (&json!(1), None), "{status} {answer}");
            assert_eq!(stored(&server, &name).await["status"], expected, "{status}");
        }
        for (status, pointer, code) in [
            (json!(2), "/status", "invalid_type"), (json!(null), "/status", "invalid_type"),
            (json!({"current": "RUNNING"}), "/status", "invalid_type"), (json!(["RUNNING", 2]), "/status/1", "invalid_type"),
            (json!(vec!["RUNNING"; 33]), "/status", "too_many"), (json!("RE+,".repeat(200_000)), "/status", "too_many"),
        ] {
            let answer = post_odd(&server, json!([with(running("odd"), &json!({"status": status}))]).to_string()).await.json(200);
            assert_eq!(only_fault(&answer), (pointer, code), "{status} {answer}");
        }
    }

    async fn an_unknown_status_warns_and_keeps_the_row(db: TestDb) {
        let server = Server::new(db).await;
        let of = |name: &str, status: Value| with(running(name), &json!({"status": status}));
        let rows = [
            running("a"), of("b", json!("DANCING")), of("c", json!("DANCING")), of("d", json!("2")), of("e", json!("")),
            of("f", json!(["RUNNING", "SHINY"])), of("g", json!("RUNNING,PENDING")), of("h", json!([])), of("i", json!("x".repeat(5_000))),
            of("j", json!("RE+")), of("k", json!("C+")), of("l", json!("OOMKilled")), of("m", json!("UNKNOWN")),
        ];
        for query in ["?dry_run=true", ""] {
            let answer = server.call("POST", &group(&format!("/kernels{query}")), Some(&json!(rows))).await.json(200);
            assert_eq!((&answer["accepted"], &answer["rejected"]), (&json!(13), &json!(0)), "{answer}");
            let mut found: Vec<(u64, u64, &str)> = Vec::new();
            for warning in answer["warnings"].as_array().unwrap() {
                assert_eq!((&warning["code"], &warning["pointer"]), (&json!("unknown_status"), &json!("/status")), "{answer}");
                found.push((warning["index"].as_u64().unwrap(), warning["kernels"].as_u64().unwrap(), warning["detail"].as_str().unwrap()));
            }
            found.sort_unstable();
            let effect = "neither starts nor ends a kernel, and leaves out one that is not known";
            let consequence = format!("it is taken as UNKNOWN, which {effect}");
            let numbers = "which schedulers use for different states";
            let long = "x".repeat(64);
            let expected = [
                (1, 2, format!("the status \"DANCING\" is not known: {consequence}")),
                (3, 1, format!("the status \"2\" is a number, {numbers}: {consequence}; report the word")),
                (4, 2, format!("the status \"\" is not known: {consequence}")),
                (5, 1, "the word \"SHINY\" of the status is not known, and is left out: the others give the status".to_owned()),
                (6, 1, format!("the words of the status \"RUNNING,PENDING\" contradict each other: {consequence}")),
                (8, 1, format!("the status \"{long}...\" is not known: {consequence}")),
                (9, 1, format!("the status \"RE+\" is not known: {consequence}")),
                (10, 1, format!("the status \"C+\" is not known: {consequence}")),
                (11, 1, format!("the status \"OOMKilled\" is not known: {consequence}")),
                (12, 1, format!("the scheduler does not know the status: such a report {effect}")),
            ];
            let expected: Vec<(u64, u64, &str)> = expected.iter().map(|(at, rows, detail)| (*at, *rows, detail.as_str())).collect();
            assert_eq!(found, expected);
        }
        let kernels = server.get(&group("/kernels")).await;
        let mut known = [id("a").to_string(), id("f").to_string()];
        known.sort();
        let stored: Vec<&str> = kernels["items"].as_array().unwrap().iter().map(|kernel| kernel["kernel_id"].as_str().unwrap()).collect();
        assert_eq!(stored, known, "{kernels}");
        let lines = format!("{}\n{}\n", running("a"), of("b", json!("WALTZING")));
        let answer = server.raw("POST", &group("/kernels"), "application/x-ndjson", lines).await.json(200);
        assert_eq!((&answer["warnings"][0]["line"], &answer["warnings"][0]["kernels"]), (&json!(2), &json!(1)), "{answer}");
    }

    async fn an_unknown_status_neither_starts_nor_ends_usage(db: TestDb) {
        let server = Server::new(db).await;
        server.agent("node-01", &json!({"cpu": "10"})).await;
        let unknown = |name: &str| with(running(name), &json!({"status": "DANCING"}));
        let also_ended = |name: &str| with(unknown(name), &json!({"terminated_at": "2026-01-13T10:30:00Z"}));
        let slices = async |name: &str| stored(&server, name).await["slices"].as_array().unwrap().len();
        // Kernels that are not known are left out, however odd their times are.
        let odd = with(also_ended("odd"), &json!({"started_at": "1999-01-01T00:00:00Z", "terminated_at": "1998-01-01T00:00:00Z"}));
        let kubernetes = with(running("pod"), &json!({"status": "Unknown"}));
        let answer = post(&server, &[unknown("new"), also_ended("ended"), odd, kubernetes]).await;
        assert_eq!((&answer["accepted"], &answer["changed"]), (&json!(4), &json!(0)), "{answer}");
        post(&server, &[running("runs"), pending("waits"), ended("over", &json!("COMPLETED"))]).await;
        let answer = post(&server, &[also_ended("runs"), unknown("waits"), unknown("over")]).await;
        assert_eq!((&answer["accepted"], &answer["changed"]), (&json!(3), &json!(0)), "{answer}");
        server.tick().await;
        for (name, status, expected) in [("waits", "PENDING", 0), ("runs", "RUNNING", 1), ("over", "TERMINATED", 1)] {
            let found = stored(&server, name).await;
            assert_eq!((&found["status"], slices(name).await), (&json!(status), expected), "{name}");
        }
        let found = stored(&server, "waits").await;
        assert_eq!((&found["started_at"], &found["terminated_at"]), (&Value::Null, &Value::Null));
        for name in ["new", "ended", "odd", "pod"] {
            assert_eq!(server.call("GET", &group(&format!("/kernels/{}", id(name))), None).await.status, 404, "{name}");
        }
        // Nothing is lost: the next known status counts from the start on.
        post(&server, &[running("new"), running("waits"), ended("ended", &json!("CANCELLED by 0"))]).await;
        server.tick().await;
        for (name, end) in [("new", "2026-01-13T12:00:00Z"), ("waits", "2026-01-13T12:00:00Z"), ("ended", "2026-01-13T11:00:00Z")] {
            let slice = &stored(&server, name).await["slices"][0];
            assert_eq!((&slice["period_start"], &slice["period_end"]), (&json!(START), &json!(end)), "{name}");
        }
        server.assert_conserved().await;
        // A snapshot takes such a row as present.
        let rows = json!([unknown("runs"), unknown("new"), unknown("waits")]);
        let answer = server.call("POST", &group("/kernels/snapshot?taken_at=2026-01-13T12:00:00Z"), Some(&rows)).await.json(200);
        assert_eq!((&answer["ended"], &answer["warnings"][0]["kernels"]), (&json!(0), &json!(3)), "{answer}");
        // The word itself is no more than an unknown one.
        let answer = post(&server, &[ended("runs", &json!("UNKNOWN"))]).await;
        assert_eq!((&answer["accepted"], &answer["changed"]), (&json!(1), &json!(0)), "{answer}");
    }

    async fn a_long_runtime_is_shortened_with_a_warning(db: TestDb) {
        let server = Server::new(db).await;
        let of = |name: &str, seconds: Value| with(running(name), &json!({"expected_seconds": seconds}));
        let rows = [
            of("a", json!(31_536_000)), of("b", json!(31_536_001)), of("c", json!(4_294_967_294_u64)), of("d", json!(u64::MAX)),
            of("e", json!(1e30)), of("f", json!(null)),
        ];
        let answer = post(&server, &rows).await;
        assert_eq!(answer["accepted"], 6, "{answer}");
        assert_eq!(answer["warnings"], json!([{
            "code": "expected_seconds_shortened", "index": 1, "kernels": 4, "pointer": "/expected_seconds",
            "detail": "`expected_seconds` is above 31536000, a year, and is taken as 31536000",
        }]));
        for name in ["a", "b", "c", "d", "e"] {
            assert_eq!(stored(&server, name).await["expected_seconds"], 31_536_000, "{name}");
        }
        assert_eq!(stored(&server, "f").await["expected_seconds"], Value::Null);
        for (seconds, code) in
            [(json!(0), "out_of_range"), (json!(-1), "invalid_value"), (json!(0.5), "invalid_type"), (json!(-1e30), "invalid_type"), (json!("60"), "invalid_type")]
        {
            let answer = post_odd(&server, json!([of("bad", seconds.clone())]).to_string()).await.json(200);
            assert_eq!(only_fault(&answer), ("/expected_seconds", code), "{seconds}");
        }
    }

    async fn times_may_be_seconds(db: TestDb) {
        let server = Server::new(db).await;
        let at = |name: &str, time: Value| with(running(name), &json!({"started_at": time}));
        for (name, time, expected) in [
            ("number", json!(START_SECONDS), "2026-01-13T10:00:00Z"), ("text", json!(START_SECONDS.to_string()), "2026-01-13T10:00:00Z"),
            ("decimals", json!("1768298400.25"), "2026-01-13T10:00:00.250000Z"),
            ("fine", json!("1768298400.1234569"), "2026-01-13T10:00:00.123456Z"),
            ("float", json!(1_768_298_400.123_456), "2026-01-13T10:00:00.123456Z"),
            ("with offset", json!("2026-01-13T11:00:00+01:00"), "2026-01-13T10:00:00Z"),
        ] {
            assert_eq!(post(&server, &[at(name, time.clone())]).await["accepted"], 1, "{time}");
            assert_eq!(stored(&server, name).await["started_at"], expected, "{time}");
        }
        // Every time of a report may be seconds.
        let times = json!({
            "submitted_at": START_SECONDS - 60, "started_at": START_SECONDS, "status": "SUSPENDED", "status_at": (START_SECONDS + 60).to_string(),
        });
        assert_eq!(post(&server, &[with(running("k"), &times)]).await["accepted"], 1);
        let found = stored(&server, "k").await;
        let [submitted, since] = ["submitted_at", "status_at"].map(|key| found[key].as_str().unwrap());
        assert_eq!((submitted, since), ("2026-01-13T09:59:00Z", "2026-01-13T10:01:00Z"));
        let end = with(running("k"), &json!({"status": "TERMINATED", "started_at": START_SECONDS, "terminated_at": START_SECONDS + 120}));
        assert_eq!(post(&server, &[end]).await["accepted"], 1);
        assert_eq!(stored(&server, "k").await["terminated_at"], "2026-01-13T10:02:00Z");
        // Slurm prints 0 for what has not happened yet.
        let not_yet = json!({"status": "PENDING", "started_at": 0, "terminated_at": "0", "status_at": 0.0, "submitted_at": START_SECONDS});
        assert_eq!(post(&server, &[with(running("waits"), &not_yet), with(running("runs"), &json!({"terminated_at": 0}))]).await["accepted"], 2);
        let found = stored(&server, "waits").await;
        assert_eq!((&found["started_at"], &found["terminated_at"], &found["status_at"]), (&Value::Null, &Value::Null, &Value::Null));
        let answer = post(&server, &[with(running("mute"), &json!({"started_at": 0}))]).await;
        assert_eq!(only_fault(&answer), ("/started_at", "required"));
        let milliseconds = "is above the year 2200 in seconds: it looks like milliseconds or a smaller unit; give seconds since 1970";
        let no_time = "is not an RFC 3339 time, or a number of seconds since 1970";
        let no_text = "is not an RFC 3339 time between the years 1970 and 9999, like 2026-01-13T10:00:00Z";
        for key in ["started_at", "terminated_at", "status_at", "submitted_at"] {
            for (time, said, code) in [
                (json!(1_768_298_400_000_u64), milliseconds, "invalid_value"), (json!("1768298400000"), milliseconds, "invalid_value"),
                (json!(u64::MAX), milliseconds, "invalid_value"), (json!(1e300), milliseconds, "invalid_value"),
                (json!(7_289_654_400_u64), milliseconds, "invalid_value"), (json!("9".repeat(400)), milliseconds, "invalid_value"),
                (json!(-1), no_time, "invalid_value"), (json!(-0.5), no_time, "invalid_value"), (json!(true), no_time, "invalid_type"),
                (json!([1]), no_time, "invalid_type"), (json!("-1"), no_text, "invalid_value"), (json!("1."), no_text, "invalid_value"),
                (json!(".5"), no_text, "invalid_value"), (json!("1e9"), no_text, "invalid_value"), (json!(""), no_text, "invalid_value"),
                (json!("1.2.3"), no_text, "invalid_value"),
            ] {
                let row = with(running("bad"), &json!({key: time}));
                let answer = post_odd(&server, json!([row]).to_string()).await.json(200);
                assert_eq!(only_fault(&answer), (format!("/{key}").as_str(), code), "{time}");
                assert_eq!(answer["errors"][0]["errors"][0]["detail"], format!("`{key}` {said}"), "{time}");
            }
        }
        assert_eq!(post(&server, &[at("early", json!(7_289_654_399_u64))]).await["accepted"], 1);
    }

    async fn times_may_be_objects_of_slurm(db: TestDb) {
        let server = Server::new(db).await;
        let number = |set: bool, infinite: bool, number: u64| json!({"set": set, "infinite": infinite, "number": number});
        let times = json!({
            "submitted_at": number(true, false, START_SECONDS - 60), "started_at": number(true, false, START_SECONDS), "status": "SUSPENDED",
            "status_at": number(true, false, START_SECONDS + 60), "terminated_at": number(true, false, 0),
        });
        assert_eq!(post(&server, &[with(running("k"), &times)]).await["accepted"], 1);
        let found = stored(&server, "k").await;
        let given = ["submitted_at", "started_at", "status_at"].map(|key| found[key].as_str().unwrap());
        assert_eq!(given, ["2026-01-13T09:59:00Z", "2026-01-13T10:00:00Z", "2026-01-13T10:01:00Z"]);
        let end = json!({"status": "TERMINATED", "started_at": number(true, false, START_SECONDS), "terminated_at": number(true, false, START_SECONDS + 120)});
        assert_eq!(post(&server, &[with(running("k"), &end)]).await["accepted"], 1);
        assert_eq!(stored(&server, "k").await["terminated_at"], "2026-01-13T10:02:00Z");
        // A number that is not set, or infinite, is a placeholder.
        let absent = json!({"terminated_at": number(false, false, START_SECONDS), "status_at": number(false, true, 0), "submitted_at": number(true, true, START_SECONDS)});
        assert_eq!(post(&server, &[with(running("runs"), &absent)]).await["accepted"], 1);
        let found = stored(&server, "runs").await;
        assert_eq!((&found["terminated_at"], &found["submitted_at"]), (&Value::Null, &Value::Null));
        let answer = post(&server, &[with(running("mute"), &json!({"started_at": number(false, false, START_SECONDS)}))]).await;
        assert_eq!(only_fault(&answer), ("/started_at", "required"));
        for (time, pointer, code) in [
            (json!({"set": true, "infinite": false, "number": -1}), "/number", "invalid_value"), (number(true, false, START_SECONDS * 1000), "", "invalid_value"),
            (json!({"set": 1, "infinite": false, "number": 1}), "/set", "invalid_type"),
            (json!({"set": true, "infinite": false, "number": "1"}), "/number", "invalid_type"),
            (json!({"set": true, "number": 1}), "/infinite", "missing_field"), (json!({}), "/set", "missing_field"),
            (json!({"set": true, "infinite": false, "number": 1, "unit": "s"}), "/unit", "unknown_field"),
        ] {
            let row = with(running("bad"), &json!({"started_at": time}));
            let answer = post_odd(&server, json!([row]).to_string()).await.json(200);
            assert_eq!(only_fault(&answer), (format!("/started_at{pointer}").as_str(), code), "{time}");
        }
    }
}

/// Rows of an answer by index, with their pointers.
fn rows_of(item: &Value) -> Vec<(u64, &str)> {
    let rows = item["rows"].as_array().unwrap();
    rows.iter().map(|row| (row["index"].as_u64().unwrap(), row["pointer"].as_str().unwrap())).collect()
}

on_both! {
    async fn rows_with_equal_errors_are_one_item(db: TestDb) {
        let server = Server::new(db).await;
        let mute = |name: &str| with(running(name), &json!({"started_at": null}));
        let slow = |name: &str| with(running(name), &json!({"expected_seconds": 0}));
        let both = |name: &str| with(slow(name), &json!({"started_at": null}));
        let wrong = |name: &str| with(running(name), &json!({"colour": "red"}));
        post(&server, &[running("x"), running("y")]).await;
        let stolen = |name: &str| with(running(name), &json!({"user_uuid": id("bob")}));
        let rows = [
            running("a"), stolen("x"), mute("b"), wrong("c"), slow("d"), mute("e"), both("f"), json!(7), stolen("y"), mute("g"), json!("8"),
        ];
        let answer = post_odd(&server, json!(rows).to_string()).await.json(200);
        assert_eq!((&answer["accepted"], &answer["rejected"]), (&json!(1), &json!(10)));
        let errors = answer["errors"].as_array().unwrap();
        let heads: Vec<_> = errors.iter().map(|item| (item["index"].as_u64().unwrap(), item["count"].as_u64())).collect();
        assert_eq!(heads, [(1, Some(2)), (2, Some(3)), (3, None), (4, None), (6, None), (7, Some(2))], "{answer}");
        assert_eq!(rows_of(&errors[0]), [(1, "/1/user_uuid"), (8, "/8/user_uuid")]);
        assert_eq!(rows_of(&errors[1]), [(2, "/2/started_at"), (5, "/5/started_at"), (9, "/9/started_at")]);
        assert_eq!(rows_of(&errors[5]), [(7, "/7"), (10, "/10")]);
        assert_eq!((&errors[1]["kernel_id"], &errors[1]["rows"][2]["kernel_id"]), (&json!(id("b")), &json!(id("g"))));
        assert_eq!(errors[1]["errors"].as_array().unwrap().len(), 1);
        assert_eq!(errors[4]["errors"].as_array().unwrap().len(), 2);
        // Each pointer leads to the place in the body, or to the row whose key is missing.
        let body = json!(rows);
        for (_, pointer) in errors.iter().filter(|item| item.get("rows").is_some()).flat_map(rows_of) {
            assert!(body.pointer(pointer).is_some(), "{pointer}");
        }
        assert!(errors[2].get("rows").is_none(), "{answer}");
        assert_eq!(answer["rejected_codes"], json!({"conflict": 2, "required": 4, "unknown_field": 1, "out_of_range": 1, "invalid_type": 2}));
        // Lines have numbers, and no place in a document.
        let lines = [mute("b"), running("a"), mute("c")].iter().fold(String::new(), |text, row| text + &row.to_string() + "\n");
        let answer = server.raw("POST", &group("/kernels"), "application/x-ndjson", lines).await.json(200);
        let item = &answer["errors"][0];
        assert_eq!((&item["line"], &item["count"]), (&json!(1), &json!(2)));
        let expected = json!([{"line": 1, "kernel_id": id("b")}, {"line": 3, "kernel_id": id("c")}]);
        assert_eq!(item["rows"], expected);
    }

    async fn equal_errors_are_counted_beyond_those_that_are_listed(db: TestDb) {
        let server = Server::new(db).await;
        let mute = with(running("mute"), &json!({"started_at": null})).to_string();
        let rows = vec![mute.as_str(); 10_050].join(",");
        let late = with(running("late"), &json!({"colour": "red"}));
        let answer = post_odd(&server, format!("[{rows},{late}]")).await.json(200);
        let errors = answer["errors"].as_array().unwrap();
        assert_eq!((errors.len(), &errors[0]["count"]), (1, &json!(10_050)));
        assert_eq!(errors[0]["rows"].as_array().unwrap().len(), 10_000);
        assert_eq!((&answer["rejected"], &answer["rejected_codes"]), (&json!(10_051), &json!({"required": 10_050, "unknown_field": 1})));
    }

    async fn memory_may_be_given_in_mebibytes(db: TestDb) {
        let server = Server::new(db).await;
        let agent = json!({"available_slots": {"cpu": 64, "mem_mib": "524288"}});
        let agent = server.call("PUT", &group("/agents/node"), Some(&agent)).await.json(201);
        assert_eq!(agent["available_slots"], json!({"cpu": "64", "mem": "549755813888"}));
        let of = |name: &str, slots: Value| with(running(name), &json!({"occupied_slots": slots}));
        for (name, slots, expected) in [
            ("number", json!({"cpu": 1, "mem_mib": 4000}), json!({"cpu": "1", "mem": "4194304000"})),
            ("text", json!({"mem_mib": "0.5"}), json!({"mem": "524288"})),
            ("bytes", json!({"mem": "4000Mi"}), json!({"mem": "4194304000"})),
            ("none", json!({"cpu": 1, "mem_mib": 0}), json!({"cpu": "1"})),
        ] {
            let answer = post(&server, &[of(name, slots.clone())]).await;
            assert_eq!((&answer["accepted"], answer.get("warnings")), (&json!(1), None), "{slots} {answer}");
            assert_eq!(stored(&server, name).await["occupied_slots"], expected, "{slots}");
        }
        let twice = "gives both `mem` and `mem_mib`; give one of them";
        for (slots, pointer, said) in [
            (r#"{"mem": 1, "mem_mib": 1}"#, "/occupied_slots", twice), (r#"{"mem_mib": 1, "cpu": 1, "mem": 1}"#, "/occupied_slots", twice),
            (r#"{"mem_mib": 1, "mem_mib": 1}"#, "/occupied_slots", "names the slot mem twice"),
            (r#"{"mem_mib": 1, "cpu": 1, "cpu": 1}"#, "/occupied_slots", "names the slot cpu twice"),
            (r#"{"mem_mib": "64Gi"}"#, "/occupied_slots/mem_mib", ""), (r#"{"mem_mib": -1}"#, "/occupied_slots/mem_mib", ""),
            (r#"{"mem_mib": "1000000000000000000000"}"#, "/occupied_slots/mem_mib", ""), (r#"{"mem_mib": null}"#, "/occupied_slots/mem_mib", ""),
        ] {
            let row = of("bad", json!("SLOTS")).to_string().replace("\"SLOTS\"", slots);
            let answer = post_odd(&server, format!("[{row}]")).await.json(200);
            assert_eq!(only_fault(&answer).0, pointer, "{slots} {answer}");
            let detail = answer["errors"][0]["errors"][0]["detail"].as_str().unwrap();
            assert!(detail.ends_with(said), "{slots}: {detail}");
        }
        // A warning about memory points to the slots, because the request has another key.
        server.call("PUT", &group("/agents/node"), Some(&json!({"available_slots": {"cpu": 64}}))).await.json(200);
        let answer = post(&server, &[of("lost", json!({"mem_mib": 1}))]).await;
        assert_eq!((&answer["warnings"][0]["code"], &answer["warnings"][0]["pointer"]), (&json!("slot_not_offered"), &json!("/occupied_slots")));
        // A sequence takes the same key.
        let workload = |slots: Value| json!({"workload_id": "w", "user_uuid": id("alice"), "project_id": id("vision"), "requested_slots": slots});
        let ask = async |slots: Value| server.call("POST", &group("/sequence"), Some(&json!({"workloads": [workload(slots)], "explain": true}))).await;
        let answer = ask(json!({"mem_mib": 1024})).await.json(200);
        assert_eq!(answer["warnings"][0]["pointer"], "/workloads/0/requested_slots", "{answer}");
        assert_eq!(ask(json!({"mem_mib": 1, "mem": 1})).await.refused(422, "invalid_value"), ["/workloads/0/requested_slots"]);
    }
}
