//! The JSON of a run has the schema that the documents name.

use crate::root;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Checks a value against the part of JSON Schema that the schema uses; returns what is wrong with it.
fn mismatch(schema: &Value, value: &Value, at: &str) -> Option<String> {
    let fits = match schema["type"].as_str()? {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_u64(),
        "number" => value.is_number(),
        other => panic!("the type {other} is not checked"),
    };
    if !fits {
        return Some(format!("{at} is no {}", schema["type"]));
    }
    if value.as_f64().zip(schema["maximum"].as_f64()).is_some_and(|(value, maximum)| value > maximum) {
        return Some(format!("{at} is more than {}", schema["maximum"]));
    }
    let mut required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    if let Some(missing) = required.find(|key| value.get(key).is_none()) {
        return Some(format!("{at} has no {missing}"));
    }
    let mut items = value.as_array().into_iter().flatten();
    let mut keys = value.as_object().into_iter().flatten();
    items.find_map(|item| mismatch(&schema["items"], item, at)).or_else(|| {
        keys.find_map(|(key, value)| {
            let at = format!("{at}.{key}");
            let listed = schema["properties"].get(key).unwrap_or(&schema["additionalProperties"]);
            match listed {
                Value::Bool(false) => Some(format!("{at} is not in the schema")),
                schema => mismatch(schema, value, &at),
            }
        })
    })
}

#[test]
fn the_json_of_a_run_has_the_schema_and_the_page_names_every_key() {
    let docs = root().join("docs");
    let schema: Value = serde_json::from_str(&fs::read_to_string(docs.join("run.schema.json")).unwrap()).unwrap();
    let page = fs::read_to_string(docs.join("output.md")).unwrap();
    for key in schema["properties"].as_object().unwrap().keys() {
        assert!(page.contains(&format!("`{key}`")), "output.md does not name {key}");
    }
    let failing = "name = \"pair\"\nnodes = 2\nduration = \"5s\"\n[topology]\nshape = \"complete\"\n\
        [expect]\ntime_to_leader = { max = \"1us\" }\n";
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("schema.toml");
    fs::write(&file, failing).unwrap();
    for scenario in ["one-way-links", file.to_str().unwrap()] {
        let run = ["run", scenario, "--seed", "1", "--json"];
        let output = Command::new(env!("CARGO_BIN_EXE_conclave")).args(run).output().unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(mismatch(&schema, &report, "the report"), None);
        let mut wrong = report.clone();
        wrong["nodes"] = Value::from("two");
        assert!(mismatch(&schema, &wrong, "the report").is_some());
        let mut wrong = report.clone();
        wrong["availability"]["mean"] = Value::from(993.0);
        let sentence = "the report.availability.mean is more than 100";
        assert_eq!(mismatch(&schema, &wrong, "the report").as_deref(), Some(sentence));
    }
}
