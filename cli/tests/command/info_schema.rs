//! What `oxiblosc info --json` prints is what docs/info.schema.json says.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::tempdir;

use crate::args;
use crate::program::{array_bytes, array_path, run, run_with, vector_path};

fn schema() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/info.schema.json");
    serde_json::from_slice(&fs::read(path).expect("the schema is in the repository")).expect("JSON")
}

/// Compares a value with the part of JSON Schema that the file uses; the place of what differs, and why.
fn differences(value: &Value, schema: &Value, place: &str, found: &mut Vec<String>) {
    for keyword in schema.as_object().expect("a schema is an object").keys() {
        let known = ["$schema", "title", "description", "type", "properties", "required", "additionalProperties"];
        let known = known.iter().chain(&["items", "enum", "minimum", "maximum"]).any(|known| known == keyword);
        assert!(known, "{place}: this test does not understand {keyword}");
    }
    let of_type = |name: &Value| match name.as_str().expect("types are names") {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("{place}: no type is called {other}"),
    };
    match &schema["type"] {
        Value::Null => {}
        Value::Array(names) if names.iter().any(of_type) => {}
        name @ Value::String(_) if of_type(name) => {}
        types => found.push(format!("{place}: {value} is not of type {types}")),
    }
    if let Some(values) = schema["enum"].as_array()
        && !values.contains(value)
    {
        found.push(format!("{place}: {value} is none of {values:?}"));
    }
    if let Some(number) = value.as_f64() {
        let below = schema["minimum"].as_f64().is_some_and(|minimum| number < minimum);
        if below || schema["maximum"].as_f64().is_some_and(|maximum| number > maximum) {
            found.push(format!("{place}: {number} is out of range"));
        }
    }
    if let Some(items) = value.as_array().filter(|_| !schema["items"].is_null()) {
        for (i, item) in items.iter().enumerate() {
            differences(item, &schema["items"], &format!("{place}[{i}]"), found);
        }
    }
    let Some(object) = value.as_object() else { return };
    for required in schema["required"].as_array().into_iter().flatten() {
        if !object.contains_key(required.as_str().expect("keys are text")) {
            found.push(format!("{place}: {required} is missing"));
        }
    }
    for (key, value) in object {
        match schema["properties"].get(key) {
            Some(schema) => differences(value, schema, &format!("{place}.{key}"), found),
            // At the top later versions may add keys, but this one must have told of all of them.
            None if schema["additionalProperties"] == json!(false) || place.is_empty() => {
                found.push(format!("{place}.{key} is not in the schema"));
            }
            None => {}
        }
    }
}

#[track_caller]
fn conforms(output: &[u8], what: &str) {
    let value: Value = serde_json::from_slice(output).expect("JSON");
    let mut found = Vec::new();
    differences(&value, &schema(), "", &mut found);
    assert!(found.is_empty(), "{what}: {found:#?}");
}

#[test]
fn of_frames_arrays_and_chunks() {
    let data = array_bytes("fmri.npy", 300_001);
    let forms: [&[&str]; 11] = [
        &[],
        &["--chunk-size", "10000", "--checksum", "xxh3", "--fingerprint", "128"],
        &["--fingerprint", "32"],
        &["--codec", "zstd", "--dict", "--block-size", "8192"],
        &["--format", "early"],
        &["--format", "chunk"],
        &["--format", "blosc1"],
        &["--format", "chunk", "--level", "0"],
        &["--dtype", "u1", "--shape", "-1"],
        &["--filter", "trunc_prec=10", "--typesize", "4"],
        &["--layout", "open"],
    ];
    for form in forms {
        for input in [&data[..300_000], &data[..1], &[]] {
            let args = args!["compress", "-", "-", "--quiet"].into_iter().chain(form.iter().map(Into::into));
            let compressed = run_with(args, input);
            // Items of four bytes do not fit one byte, and the like.
            if compressed.status == 0 {
                let told = run_with(args!["info", "--json", "-"], &compressed.stdout).ok();
                conforms(&told, &format!("{form:?} of {} bytes", input.len()));
            }
        }
    }
    let dir = tempdir().expect("a directory");
    let (array, sparse) = (dir.path().join("array"), dir.path().join("sparse"));
    run(args!["compress", array_path("fmri.npy"), &array, "--quiet"]).ok();
    run(args!["compress", array_path("faces.npy"), &sparse, "--layout", "sparse", "--quiet"]).ok();
    for path in [&array, &sparse] {
        conforms(&run(args!["info", "--json", path]).ok(), &path.display().to_string());
    }
}

#[test]
fn of_files_by_others() {
    let mut count = 0;
    for folder in ["samples", "early", "legacy", "current"] {
        for entry in fs::read_dir(vector_path(folder)).expect("the vectors are in the repository") {
            let path = entry.expect("an entry").path();
            let told = run(args!["info", "--json", &path]);
            if told.status == 0 {
                conforms(&told.stdout, &path.display().to_string());
                count += 1;
            }
        }
    }
    assert!(count > 100, "{count} files");
}
