//! The schemas that Kueue publishes for its objects (`recorded/kueue`), and the objects of the tests against them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::{Value, json};

use super::kueue_objects::{ago, cluster_queue, flavor, local_queue, workload};

/// The schemas of the four kinds, by the plural name of the kind.
const TEXTS: [(&str, &str); 4] = [
    ("workloads", include_str!("recorded/kueue/workloads.json")),
    ("localqueues", include_str!("recorded/kueue/localqueues.json")),
    ("clusterqueues", include_str!("recorded/kueue/clusterqueues.json")),
    ("resourceflavors", include_str!("recorded/kueue/resourceflavors.json")),
];

struct KueueSchemas {
    compiled: Schemas,
    indices: BTreeMap<(String, String), SchemaIndex>,
}

/// The API server drops fields that a schema does not have. Here they are faults.
fn forbid_unknown_fields(schema: &mut Value) {
    match schema {
        Value::Object(keys) => {
            if keys.contains_key("properties") && !keys.contains_key("additionalProperties") {
                keys.insert("additionalProperties".to_owned(), false.into());
            }
            keys.values_mut().for_each(forbid_unknown_fields);
        }
        Value::Array(items) => items.iter_mut().for_each(forbid_unknown_fields),
        _ => {}
    }
}

static SCHEMAS: LazyLock<KueueSchemas> = LazyLock::new(|| {
    let (mut compiled, mut compiler, mut indices) = (Schemas::new(), Compiler::new(), BTreeMap::new());
    for (plural, text) in TEXTS {
        let file: Value = serde_json::from_str(text).unwrap();
        for (version, schema) in file["versions"].as_object().unwrap() {
            let (address, mut schema) = (format!("http://localhost/{plural}/{version}.json"), schema.clone());
            forbid_unknown_fields(&mut schema);
            compiler.add_resource(&address, schema).unwrap();
            let index = compiler.compile(&address, &mut compiled).unwrap();
            indices.insert((plural.to_owned(), version.clone()), index);
        }
    }
    KueueSchemas { compiled, indices }
});

/// The fault of an object by the schema of its version; `None` if there is none, or no schema of its kind.
fn fault(plural: &str, object: &Value) -> Option<String> {
    let (_, version) = object["apiVersion"].as_str().unwrap().rsplit_once('/')?;
    let index = SCHEMAS.indices.get(&(plural.to_owned(), version.to_owned()))?;
    let mut content = object.clone();
    // The schemas say nothing about metadata.
    content["metadata"] = json!({});
    SCHEMAS.compiled.validate(&content, *index).err().map(|error| format!("{error:#}"))
}

/// Fails unless an object is as Kueue publishes it.
#[track_caller]
pub fn check_object(plural: &str, object: &Value) {
    if let Some(fault) = fault(plural, object) {
        panic!("{plural}: {fault}\n{object:#}");
    }
}

#[test]
fn the_objects_of_the_tests_are_as_kueue_publishes_them() {
    let known = workload("a/w", "u", 5, 3);
    for (plural, object) in [
        ("workloads", &known),
        ("localqueues", &local_queue("a", "q")),
        ("clusterqueues", &cluster_queue("q", "c")),
        ("resourceflavors", &flavor("f", &json!({"a": "b"}))),
    ] {
        check_object(plural, object);
    }
    let mut unknown = known.clone();
    unknown["spec"]["prioritys"] = 3.into();
    assert!(fault("workloads", &unknown).unwrap().contains("prioritys"));
    let mut wrong = known.clone();
    wrong["spec"]["podSets"][0]["count"] = "2".into();
    assert!(fault("workloads", &wrong).is_some());
}

/// The fields of conditions that the connector reads are required ones.
#[test]
fn conditions_have_what_is_read() {
    for (plural, text) in TEXTS.into_iter().filter(|(plural, _)| ["workloads", "clusterqueues"].contains(plural)) {
        let file: Value = serde_json::from_str(text).unwrap();
        for (version, schema) in file["versions"].as_object().unwrap() {
            let condition = &schema["properties"]["status"]["properties"]["conditions"]["items"];
            let required = condition["required"].as_array().unwrap();
            for field in ["type", "status", "reason", "lastTransitionTime"] {
                assert!(required.contains(&field.into()), "{plural} {version} {field}");
            }
        }
    }
    let mut odd = workload("a/w", "u", 5, 3);
    odd["status"] = json!({"conditions": [{"type": "Admitted", "status": "Yes", "reason": "r", "message": "", "lastTransitionTime": ago(1)}]});
    assert!(fault("workloads", &odd).is_some());
}
