//! Accelerators, in every form in which accounting data contain them.

use fairshared::cli::import::outcome::DeviceSlices;
use fairshared::cli::import::report::ImportReport;
use fairshared::cli::import::{SlotChoices, TraceOptions};
use serde_json::{Value, json};

use super::{Outcome, read, read_with, skipped, slots};
use crate::support::plain::data;

const START: &str = "2026-11-20T10:00:00";

/// A finished hour of a dump with these fields.
fn dump(names: &str, values: &str) -> Outcome {
    dump_with(names, values, &[])
}

/// The same with `--slot` for each of `choices`.
fn dump_with(names: &str, values: &str, choices: &[&str]) -> Outcome {
    let slots = SlotChoices::new(choices.iter().map(|choice| SlotChoices::parse(choice).unwrap())).unwrap();
    let header = format!("JobID|Cluster|User|Account|State|Start|End|{names}");
    let row = format!("1|c1|ann|bio|COMPLETED|{START}|2026-11-20T11:00:00|{values}");
    read_with("sacct", format!("{header}\n{row}\n"), &TraceOptions { slots, ..TraceOptions::default() })
}

fn document(tres: &Value, more: &Value) -> Outcome {
    let mut job = json!({
        "job_id": 1, "user": "ann", "account": "bio", "cluster": "c1", "state": {"current": ["COMPLETED"]},
        "time": {"start": 1_795_168_800, "end": 1_795_172_400}, "tres": {"allocated": tres},
    });
    job.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    read("sacct", json!({"jobs": [job]}).to_string())
}

#[test]
fn generic_resources_count_beside_a_list_that_has_none() {
    for (gres, expected) in [
        ("gpu:v100:4", "cpu=8 cuda.device=4"),
        ("gres:gpu:2", "cpu=8 cuda.device=2"),
        ("gres:gpu:a100:2", "cpu=8 cuda.device=2"),
        ("gres/gpu=4", "cpu=8 cuda.device=4"),
        ("gres/gpu:a100=4", "cpu=8 cuda.device=4"),
        ("gpu=4", "cpu=8 cuda.device=4"),
        ("gpu:4(S:0-1)", "cpu=8 cuda.device=4"),
        ("gpu:a100:4(S:0,2)", "cpu=8 cuda.device=4"),
        ("gpu:a100:3(IDX:0-1,3),nic:1", "cpu=8 cuda.device=3 gres/nic=1"),
        ("gpu:a100:2,gpu:v100:1", "cpu=8 cuda.device=3"),
        ("gpu:2,mps:100", "cpu=8 cuda.device=2 gres/mps=100"),
        ("gpu:1K", "cpu=8 cuda.device=1024"),
        ("gpu:no_consume:2", "cpu=8 cuda.device=2"),
        ("gpu", "cpu=8 cuda.device=1"),
        ("gpu:a100", "cpu=8 cuda.device=1"),
        ("gpu(S:0)", "cpu=8 cuda.device=1"),
        // Numbers of Slurm's plug-ins.
        ("7696487:4", "cpu=8 cuda.device=4"),
        ("gres:7696487:a100:2", "cpu=8 cuda.device=2"),
        ("7696487:2,7565421:100", "cpu=8 cuda.device=2 gres/mps=100"),
        ("1918986455:5", "cpu=8 gres/shard=5"),
        ("6515054:1", "cpu=8 gres/nic=1"),
        ("gpu:0", "cpu=8"),
        ("(null)", "cpu=8"),
        ("N/A", "cpu=8"),
        ("None", "cpu=8"),
        ("0", "cpu=8"),
        ("", "cpu=8"),
    ] {
        for (names, values) in [
            ("AllocTRES|AllocGRES", format!("billing=8,cpu=8,node=1|{gres}")),
            ("AllocCPUS|allocgres", format!("8|{gres}")),
        ] {
            let outcome = dump(names, &values);
            assert_eq!(skipped(&outcome), [], "{values}");
            assert_eq!(slots(&outcome.only_job()), expected, "{values}");
        }
    }
    // The list knows better.
    assert_eq!(slots(&dump("AllocTRES|AllocGRES", "cpu=8,gres/gpu=2|gpu:v100:4").only_job()), "cpu=8 cuda.device=2");
    let typed = dump("AllocTRES|AllocGRES", "cpu=8,gres/gpu:a100=2|gpu:4,nic:1").only_job();
    assert_eq!(slots(&typed), "cpu=8 cuda.device=2 gres/nic=1");
    // A job that never started held nothing of what it asked for.
    let header = "JobID|Cluster|User|Account|State|Start|End|AllocTRES|AllocGRES";
    let never = format!("{header}\n1|c1|ann|bio|CANCELLED|None|{START}||gpu:2\n");
    assert_eq!(slots(&read("sacct", never).only_job()), "");
}

#[test]
fn a_generic_resource_that_cannot_be_read_is_left_out_and_counted() {
    for gres in ["gpu:", "gpu:-1", "gpu=many", ":4", "gpu:1,gpu:2", "1001:2", "99999999999:1"] {
        let outcome = dump("AllocCPUS|AllocGRES", &format!("8|{gres}"));
        assert_eq!(skipped(&outcome), [("AllocGRES", 1)], "{gres}");
        assert_eq!(outcome.summary.dropped_rows(), 0, "{gres}");
    }
}

#[test]
fn resources_by_slurms_numbers() {
    for (list, expected, left_out) in [
        ("1=4,2=8192,4=1,5=4", "cpu=4 mem=8589934592", None),
        ("1=4,2=8G,3=99", "cpu=4 mem=8589934592", None),
        ("1=4,2=4096Mn,4=2", "cpu=4 mem=8589934592", None),
        ("1=4,2=8192,1001=2", "cpu=4 mem=8589934592", Some("AllocTRES 1001")),
        ("1=4,1002=1,gres/gpu=1", "cpu=4 cuda.device=1", Some("AllocTRES 1002")),
    ] {
        let outcome = dump("AllocTRES", list);
        assert_eq!(skipped(&outcome), left_out.map(|name| (name, 1)).into_iter().collect::<Vec<_>>(), "{list}");
        if let Some(name) = left_out {
            let said = outcome.summary.to_string();
            assert!(said.contains(&format!("field {name} left out of 1 row, first at line 2: ")), "{said}");
        }
        assert_eq!(slots(&outcome.only_job()), expected, "{list}");
    }
    // A number may stand beside what another field says.
    let both = dump("AllocTRES|AllocGRES", "1=4,1001=2|gpu:2");
    assert_eq!(slots(&both.only_job()), "cpu=4 cuda.device=2");
    let of_document =
        document(&json!([{"id": 1, "count": 4}, {"id": 2, "count": 8192}, {"id": 1001, "count": 2}]), &json!({}));
    assert_eq!(skipped(&of_document), [("tres 1001", 1)]);
    assert_eq!(slots(&of_document.only_job()), "cpu=4 mem=8589934592");
}

#[test]
fn a_document_says_elsewhere_which_generic_resources_a_job_held() {
    let cpus = json!([{"type": "cpu", "id": 1, "count": 8}]);
    for (detail, expected) in [
        (json!(["gpu:a100:2(IDX:0-1)"]), "cpu=8 cuda.device=2"),
        (json!(["gpu:a100:2(IDX:0-1)", "gpu:a100:1(IDX:0)"]), "cpu=8 cuda.device=3"),
        (json!(["gpu:2", "nic:1"]), "cpu=8 cuda.device=2 gres/nic=1"),
        (json!([]), "cpu=8"),
        (json!(null), "cpu=8"),
    ] {
        let outcome = document(&cpus, &json!({"gres_detail": detail}));
        assert_eq!(slots(&outcome.only_job()), expected, "{detail}");
    }
    let both = json!([{"type": "cpu", "count": 8}, {"type": "gres", "name": "gpu", "count": 2}]);
    assert_eq!(slots(&document(&both, &json!({"gres_detail": ["gpu:4"]})).only_job()), "cpu=8 cuda.device=2");
}

#[test]
fn pbs_has_many_names_for_accelerators() {
    for (facts, expected) in [
        ("Resource_List.ncpus=8 Resource_List.naccelerators=4", "cpu=8 cuda.device=4"),
        ("Resource_List.ncpus=8 Resource_List.ngpus=4", "cpu=8 cuda.device=4"),
        ("Resource_List.ncpus=8 Resource_List.gpus=4", "cpu=8 cuda.device=4"),
        ("Resource_List.ncpus=8 Resource_List.accelerator=4", "cpu=8 cuda.device=4"),
        ("Resource_List.ncpus=8 Resource_List.accelerator=True", "cpu=8 cuda.device=1"),
        ("Resource_List.ncpus=8 Resource_List.accelerator=False", "cpu=8"),
        ("Resource_List.ncpus=8 resources_assigned.naccelerators=2", "cpu=8 cuda.device=2"),
        ("exec_vnode=(n1:ncpus=4:naccelerators=1)+(n2:ncpus=4:naccelerators=1)", "cpu=8 cuda.device=2"),
        ("exec_vnode=(n1:ncpus=8:ngpus=0) Resource_List.naccelerators=2", "cpu=8 cuda.device=2"),
        (
            "Resource_List.ncpus=8 Resource_List.select=2:ncpus=4:accelerator=True:naccelerators=2",
            "cpu=8 cuda.device=4",
        ),
        ("Resource_List.select=2:ncpus=4:accelerator=True", "cpu=8 cuda.device=2"),
        ("exec_host=n1/0-7 Resource_List.neednodes=1:ppn=8:gpus=2", "cpu=8 cuda.device=2"),
    ] {
        let owner = "user=ann group=bio queue=batch start=1795168800 end=1795172400";
        let outcome = read("pbs", format!("11/20/2026 11:00:00;E;1.c1;{owner} {facts}\n"));
        assert_eq!(slots(&outcome.only_job()), expected, "{facts}");
    }
}

#[test]
fn slices_of_devices_and_billing_become_slots_of_their_own() {
    let slices = "billing=12,cpu=4,gres/gpu:1g.5gb=2,gres/gpu:a100=1,gres/gpu=3,node=1";
    for (list, choices, expected) in [
        (slices, &[][..], "cpu=4 cuda.device=3"),
        (slices, &["billing"], "billing=12 cpu=4 cuda.device=3"),
        (slices, &["gres/gpu:1g.5gb=mig.small"], "cpu=4 cuda.device=1 mig.small=2"),
        (slices, &["gres/gpu:1g.5gb"], "cpu=4 cuda.device=1 gres/gpu:1g.5gb=2"),
        (slices, &["billing=units", "node", "gres/gpu:1g.5gb=mig"], "cpu=4 cuda.device=1 mig=2 node=1 units=12"),
        (slices, &["gres/gpu:1g.5gb=cuda.device"], "cpu=4 cuda.device=3"),
        ("cpu=4,gres/gpu:1g.5gb=2,gres/gpu:2g.10gb=1", &["gres/gpu:1g.5gb=mig", "gres/gpu:2g.10gb=mig"], "cpu=4 mig=3"),
        ("cpu=4,gres/gpu:1g.5gb=2,gres/gpu:a100=1", &["gres/gpu:1g.5gb=mig"], "cpu=4 cuda.device=1 mig=2"),
        ("cpu=4,gres/mig:1g.5gb=2,gres/gpu=1", &["gres/mig:1g.5gb=mig"], "cpu=4 cuda.device=1 mig=2"),
        ("cpu=4,gres/mig=2", &[], "cpu=4 gres/mig=2"),
        ("1=4,5=12", &["billing"], "billing=12 cpu=4"),
    ] {
        assert_eq!(slots(&dump_with("AllocTRES", list, choices).only_job()), expected, "{list} {choices:?}");
    }
    let gres = dump_with("AllocCPUS|AllocGRES", "4|gpu:1g.5gb:2", &["gres/gpu:1g.5gb=mig"]).only_job();
    assert_eq!(slots(&gres), "cpu=4 mig=2");
}

#[test]
fn slices_that_count_as_whole_devices_are_noted() {
    let noted = |outcome: &Outcome| {
        let DeviceSlices { rows, first_line, resources } = &outcome.summary.device_slices;
        (*rows, *first_line, resources.iter().cloned().collect::<Vec<_>>())
    };
    let slices = "cpu=4,gres/gpu:1g.5gb=2,gres/gpu:a100=1,gres/gpu=3";
    for (list, choices, expected) in [
        (slices, &[][..], &["gres/gpu:1g.5gb"][..]),
        (slices, &["gres/gpu:1g.5gb=mig.small"], &[]),
        ("cpu=4,gres/gpu:1g.5gb=2,gres/gpu:2g.10gb=1", &["gres/gpu:1g.5gb"], &["gres/gpu:2g.10gb"]),
        ("cpu=4,gres/gpu:a100_3g.20gb=1,gres/gpu:1g.10gb+me=1", &[], &["gres/gpu:1g.10gb+me", "gres/gpu:a100_3g.20gb"]),
        ("cpu=4,gres/gpu:a100=1,gres/gpu:h100_80gb=1,gres/mig=1,gres/nic:1g.5gb=1", &[], &[]),
    ] {
        let outcome = dump_with("AllocTRES", list, choices);
        let rows = u64::from(!expected.is_empty());
        let expected: Vec<String> = expected.iter().map(ToString::to_string).collect();
        assert_eq!(noted(&outcome), (rows, 2 * rows, expected), "{list} {choices:?}");
    }
    assert_eq!(noted(&dump("AllocCPUS|AllocGRES", "4|gpu:1g.5gb:2")).2, ["gres/gpu:1g.5gb"]);
    let tres = json!([{"type": "cpu", "count": 8}, {"type": "gres", "name": "gpu:1g.5gb", "count": 2}]);
    assert_eq!(noted(&document(&tres, &json!({}))).2, ["gres/gpu:1g.5gb"]);
}

#[test]
fn a_choice_of_slots_may_be_wrong() {
    assert!(SlotChoices::parse("energy=e").unwrap_err().starts_with("energy is used up and not held"));
    for text in ["", "=x", "billing=", "bill ing"] {
        assert!(SlotChoices::parse(text).unwrap_err().contains("is not a name of 1 to 64"), "{text}");
    }
    let twice = ["billing=a", "billing=b"].map(|choice| SlotChoices::parse(choice).unwrap());
    assert_eq!(SlotChoices::new(twice).unwrap_err(), "--slot names the resource billing twice");
}

#[test]
fn the_handed_rows_hold_their_accelerators() {
    let Some(data) = data() else { return };
    for (file, expected) in [
        ("02-gpu-only-in-allocgres.sacct.txt", "cpu=8 cuda.device=4 mem=68719476736"),
        ("03-allocgres-other-spelling.sacct.txt", "cpu=8 cuda.device=2"),
    ] {
        let text = std::fs::read(data.join("odd-accounting").join(file)).unwrap();
        assert_eq!(slots(&read("sacct", text).only_job()), expected, "{file}");
    }
}

#[test]
fn a_chosen_resource_that_no_row_has_is_a_warning() {
    let absent = |choices: &[&str]| {
        let summary = dump_with("AllocTRES", "cpu=4,billing=9,gres/fpga=1", choices).summary;
        let report = ImportReport { summary, ..ImportReport::default() };
        assert_eq!(report.to_json()["absent_resources"].as_array().unwrap().len(), report.warnings().len());
        report.warnings()
    };
    assert_eq!(absent(&["billing", "gres/fpga=fpga", "cpu=cores"]), Vec::<String>::new());
    assert_eq!(
        absent(&["billing", "gres/fgpa=fpga"]),
        ["--slot gres/fgpa has no effect: no row that was taken has a resource of that name"]
    );
}
