//! No input causes a panic, a hang or a wrong summary.

use fairshared::cli::import::FORMATS;
use fairshared::cli::import::TraceOptions;
use proptest::prelude::*;

use super::{collect, gzip, reader};

const HEADERS: [&str; 5] = [
    "JobID|User|Account|Cluster|Partition|State|Submit|Start|End|AllocTRES|NodeList|Priority\n",
    "job_id,session_id,user,project,domain,resource_group,submit_time,start_time,end_time,cpu,mem_gib,gpu,state\n",
    "; UnixStartTime: 99\n; Partition: 3 x\n",
    "02/02/2026 04:50:00;E;7.pbs1;user=ann group=staff ",
    "{\"meta\": {}, \"jobs\": [",
];

/// Parts of rows, so that random rows pass the first check.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let known = [
        "|",
        ",",
        " ",
        "\n",
        "\r\n",
        "\"",
        ";",
        "{1,1}",
        "{",
        "=",
        "-1",
        "0",
        "7",
        "12_3",
        "12.batch",
        "ann",
        "COMPLETED",
        "RUNNING",
        "PENDING",
        "CANCELLED by 1",
        "Unknown",
        "2026-02-01T08:00:00",
        "2026-02-01T09:00:00Z",
        "1.5",
        "cpu=4,mem=1.5G,gres/gpu:a=1",
        "mem=\u{e9}",
        "9223372036854775807",
        "18446744073709551616",
        "\u{feff}",
        "{\"job_id\": 7, \"time\": {\"start\": 5}}",
        "]}",
        "\"JOB_FINISH\" \"10.1\" ",
        "02/02/2026 04:50:00;S;7.pbs1;start=",
        "exec_host=n1/0-",
        "'",
    ];
    prop_oneof![
        9 => prop::sample::select(known.to_vec()).prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..4),
    ]
}

proptest! {
    #[test]
    fn any_bytes_end_in_a_balance(
        header in prop::sample::select(HEADERS.to_vec()),
        pieces in prop::collection::vec(piece(), 0..200),
        packed in any::<bool>(),
        cut in 0_usize..200,
    ) {
        let mut bytes = [header.as_bytes(), &pieces.concat()].concat();
        if packed {
            bytes = gzip(&bytes);
        }
        bytes.truncate(bytes.len() - cut.min(bytes.len()));
        for format in FORMATS {
            if let Ok(outcome) = collect(reader(format.name, bytes.clone(), &TraceOptions::default())) {
                let summary = outcome.summary;
                prop_assert_eq!(summary.taken, outcome.jobs.len() as u64);
                prop_assert_eq!(summary.rows, summary.taken + outcome.dropped.len() as u64);
                for job in &outcome.jobs {
                    prop_assert!(job.started_at.is_some() || job.terminated_at.is_some());
                    prop_assert!(job.terminated_at.is_none_or(|end| job.started_at.is_none_or(|start| start <= end)));
                }
            }
        }
    }
}
