//! The JSON of a run and the lines of its trace have the schemas that the documents name.

use crate::root;
use serde_json::Value;
use std::collections::BTreeSet;
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

/// What tells the events of a trace apart.
const TAGS: [&str; 4] = ["event", "lock_event", "app_event", "request"];

/// The tags of an event, as the schema or a line has them.
fn tags<'a>(of: impl Fn(&'static str) -> &'a Value) -> Vec<&'a str> {
    TAGS.into_iter().filter_map(|tag| of(tag).as_str()).collect()
}

/// Checks a line of a trace; returns what is wrong with it.
fn wrong_line(schema: &Value, line: &Value) -> Option<String> {
    let mut variants = schema["oneOf"].as_array()?.iter();
    let variant = variants.find(|variant| tags(|tag| &variant["properties"][tag]["const"]) == tags(|tag| &line[tag]));
    let Some(variant) = variant else { return Some(format!("no event has the tags of {line}")) };
    let required = [&schema["required"], &variant["required"]];
    let mut required = required.into_iter().flat_map(|keys| keys.as_array().into_iter().flatten());
    if let Some(missing) = required.find(|key| line.get(key.as_str().unwrap()).is_none()) {
        return Some(format!("{line} has no {missing}"));
    }
    line.as_object()?.iter().find_map(|(key, value)| {
        let listed = [variant, schema].into_iter().find_map(|part| part["properties"].get(key));
        let Some(listed) = listed else { return Some(format!("{key} of {line} is not in the schema")) };
        let is = |name: &Value| match name.as_str() {
            Some("integer") => value.is_i64() || value.is_u64(),
            Some("boolean") => value.is_boolean(),
            Some("string") => value.is_string(),
            Some("null") => value.is_null(),
            _ => panic!("the type {name} is not checked"),
        };
        let fits = match &listed["type"] {
            Value::Null => *value == listed["const"],
            Value::Array(names) => names.iter().any(is),
            name => is(name),
        };
        (!fits).then(|| format!("{key} of {line} is no {listed}"))
    })
}

/// The words of an enum's variants in a file of the trace, as JSON has them.
fn words_of(file: &str, name: &str) -> BTreeSet<String> {
    let text = fs::read_to_string(root().join("host-sim/src/trace").join(file)).unwrap();
    let (_, body) = text.split_once(&format!("pub enum {name} {{\n")).unwrap();
    let lines = body.lines().take_while(|line| *line != "}").filter_map(|line| line.strip_prefix("    "));
    let variants = lines.filter(|line| line.starts_with(char::is_uppercase));
    let word = |line: &str| {
        let name = line.chars().take_while(|c| c.is_alphanumeric());
        name.flat_map(|c| c.is_uppercase().then_some('-').into_iter().chain(c.to_lowercase())).skip(1).collect()
    };
    variants.map(word).collect()
}

#[test]
fn every_line_of_a_trace_has_the_schema_which_has_every_event() {
    let schema = fs::read_to_string(root().join("docs/trace.schema.json")).unwrap();
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let enums = [("mod.rs", "EventKind"), ("lock_event.rs", "LockEvent"), ("app_event.rs", "AppEvent")];
    for ((file, name), tag) in enums.into_iter().chain([("app_event.rs", "AppRequest")]).zip(TAGS) {
        let consts = schema["oneOf"].as_array().unwrap().iter().map(|variant| &variant["properties"][tag]["const"]);
        let consts: BTreeSet<String> = consts.filter_map(Value::as_str).map(str::to_owned).collect();
        assert_eq!(consts, words_of(file, name), "{name}");
    }
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("schema.jsonl");
    for scenario in ["one-way-links", "lock-storm", "snapshot-storm", "termination-diffusing"] {
        let run = ["run", scenario, "--seed", "1", "--trace", file.to_str().unwrap()];
        assert!(Command::new(env!("CARGO_BIN_EXE_conclave")).args(run).output().unwrap().status.success());
        let mut last = Value::Null;
        for line in fs::read_to_string(&file).unwrap().lines() {
            last = serde_json::from_str(line).unwrap();
            assert_eq!(wrong_line(&schema, &last), None, "{scenario}");
        }
        for (key, value) in [("at", Value::Null), ("event", Value::from("no-event")), ("more", Value::from(1))] {
            let mut wrong = last.clone();
            wrong[key] = value;
            assert!(wrong_line(&schema, &wrong).is_some(), "{wrong}");
        }
    }
}
