//! Responses: the same results as the commands print.

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value, json};

use super::*;

/// The rows of a CSV table by column.
fn csv(text: &str) -> Vec<BTreeMap<String, String>> {
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let row = |line: &str| {
        names.iter().map(|&name| name.to_owned()).zip(line.split(',').map(str::to_owned)).collect()
    };
    lines.map(row).collect()
}

fn number(text: &str) -> f64 {
    text.parse().unwrap()
}

#[test]
fn predictions_and_vectors_are_those_of_the_commands() {
    let folder = Folder::new();
    let (model, graphs) = trained(&folder, &SMALL);
    let data = folder.at("graphs.jsonl");
    fs::write(&data, &graphs).unwrap();
    let service = Service::start(&["-m", &model]);

    let table = csv(&output(&["predict", &data, "-m", &model, "--proba", "--coverage", "0.9"]));
    let reply = service.post("/predict?proba=1&coverage=0.9", &graphs);
    assert_eq!(reply.header("content-type"), "application/x-ndjson");
    let lines = reply.lines();
    assert_eq!((lines.len(), table.len()), (300, 300));
    for (line, row) in lines.iter().zip(&table) {
        assert_eq!(line["id"], json!(row["id"]));
        assert_eq!(
            line["prediction"],
            json!(row["prediction"].parse::<i64>().unwrap()),
            "an integer as such"
        );
        for (class, score) in line["scores"].as_array().unwrap().iter().enumerate() {
            assert_eq!(score.as_f64().unwrap(), number(&row[&format!("score_{class}")]), "to the last bit");
            let name = format!("probability_{class}");
            assert_eq!(line[&name].as_f64().unwrap(), number(&row[&name]));
        }
        assert!(line["set"].is_array(), "{line}");
    }

    let vectors = csv(&output(&["embed", &data, "-m", &model]));
    for (line, row) in service.post("/embed", &graphs).lines().iter().zip(&vectors) {
        for (at, value) in line["embedding"].as_array().unwrap().iter().enumerate() {
            assert_eq!(value.as_f64().unwrap() as f32, row[&format!("e{at}")].parse::<f32>().unwrap());
        }
    }

    // One by one or many at a time, the result of a graph is the same.
    std::thread::scope(|scope| {
        for worker in 0..8 {
            let (service, graphs, lines) = (&service, &graphs, &lines);
            scope.spawn(move || {
                for (graph, line) in graphs.lines().zip(lines).skip(worker).step_by(8) {
                    let alone = service.post("/predict", graph).lines();
                    assert_eq!(
                        (&alone[0]["prediction"], &alone[0]["scores"]),
                        (&line["prediction"], &line["scores"])
                    );
                }
            });
        }
    });
    let metrics = service.get("/metrics");
    let value = |name: &str| {
        let found = metrics.text().lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
        number(found.unwrap_or_else(|| panic!("no {name} in {}", metrics.text())))
    };
    assert_eq!(value("stepwell_requests_total{path=\"/predict\",status=\"200\"}"), 301.0);
    assert_eq!(value("stepwell_request_seconds_count{path=\"/predict\"}"), 301.0);
    assert_eq!(value("stepwell_graphs_total{path=\"/predict\",model=\"model\"}"), 600.0);
    assert!(value("stepwell_batches_total") <= value("stepwell_batched_requests_total"));
    service.stop();
}

#[test]
fn bad_rows_fail_the_request_or_are_answered_as_such() {
    let folder = Folder::new();
    let (model, graphs) = trained(&folder, &SMALL);
    let service = Service::start(&["-m", &model]);
    let mut rows: Vec<&str> = graphs.lines().take(5).collect();
    rows[1] = "{\"num_nodes\": 2}";
    rows[3] = "nothing of the kind";
    let body = rows.join("\n");
    let refused = service.post("/predict", &body);
    assert_eq!(refused.status, 400);
    assert!(refused.error().starts_with("request, line 2: expected"), "{}", refused.error());

    let reply = service.post("/predict?skip_bad=1", &body);
    assert_eq!(reply.header("stepwell-skipped"), "2");
    let lines = reply.lines();
    let ids: Vec<&str> = lines.iter().map(|line| line["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["0", "1", "2", "3", "4"], "in order, by their rows");
    assert!(lines[1]["error"].as_str().unwrap().contains("line 2"), "{}", lines[1]);
    assert!(lines[3]["error"].as_str().unwrap().contains("line 4"), "{}", lines[3]);
    let good = service.post("/predict", [rows[0], rows[2], rows[4]].join("\n")).lines();
    for (mine, alone) in [0, 2, 4].into_iter().zip(&good) {
        assert_eq!(
            (&lines[mine]["prediction"], &lines[mine]["scores"]),
            (&alone["prediction"], &alone["scores"])
        );
    }

    // A row keeps its own id and its type, good or bad; a row that has none is named by its number.
    let with = |id: &str, row: &str| row.replacen('{', &format!("{{\"id\": {id}, "), 1);
    let bad = with("\"b\"", "{\"num_nodes\": 1, \"src\": [0], \"dst\": [7]}");
    let body =
        [with("17", rows[0]), bad, with("\"17\"", rows[2]), "{\"id\": -5, \"num_nodes\":".into(), "{".into()];
    let lines = service.post("/predict?skip_bad=1", body.join("\n")).lines();
    let ids: Vec<&Value> = lines.iter().map(|line| &line["id"]).collect();
    assert_eq!(ids, [&json!(17), &json!("b"), &json!("17"), &json!(-5), &json!("4")]);
    assert!(lines[1]["error"].is_string() && lines[3]["error"].is_string(), "{lines:?}");
    let large = service.post("/embed", with("18446744073709551615", rows[0])).lines();
    assert_eq!(large[0]["id"], json!(u64::MAX));
    let explained = service.post("/explain", with("17", rows[0])).lines();
    assert_eq!((&explained[0]["id"], explained[0]["class"].is_i64()), (&json!(17), true));

    // Ids, and keys that the model does not know.
    let named = rows[0].replacen('{', "{\"id\": \"ä \\\"b\\\"\", \"colour\": 3, ", 1);
    let reply = service.post("/predict", named);
    let note = "key 'colour' is not part of the schema and was ignored";
    assert_eq!(reply.header("stepwell-note"), note, "with no escapes");
    assert_eq!(reply.lines()[0]["id"], "ä \"b\"");
    assert_eq!(service.post("/predict", "").status, 400);
}

#[test]
fn arrow_streams_are_read_and_written() {
    let folder = Folder::new();
    let (model, graphs) = trained(&folder, &SMALL);
    let service = Service::start(&["-m", &model]);
    let body = arrow_stream(&graphs);
    let kind = "application/vnd.apache.arrow.stream";
    let expected = service.post("/predict", &graphs).lines();
    let as_json = service.post_as("/predict", kind, "application/x-ndjson", &body).lines();
    assert_eq!(as_json, expected);
    let reply = service.post_as("/predict", kind, "*/*", &body);
    assert_eq!((reply.status, reply.header("content-type")), (200, kind));
    let read = arrow_ipc::reader::StreamReader::try_new(&reply.body[..], None).unwrap();
    let names: Vec<String> = read.schema().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(names, ["id", "prediction", "scores"]);
    let mut rows = 0;
    for batch in read.map(Result::unwrap) {
        let classes = batch.column(1).as_any().downcast_ref::<arrow_array::Int64Array>().unwrap();
        for at in 0..batch.num_rows() {
            assert_eq!(expected[rows + at]["prediction"], json!(classes.value(at)));
        }
        rows += batch.num_rows();
    }
    assert_eq!(rows, 300);
    // Integer ids stay integers, and a bad row keeps its own.
    let ids: Vec<String> = graphs
        .lines()
        .take(3)
        .zip(40..)
        .map(|(row, id)| row.replacen('{', &format!("{{\"id\":{id},"), 1))
        .collect();
    let named = arrow_stream_with(&ids.join("\n"), |batch| {
        let at = batch.schema().index_of("id").unwrap();
        let (schema, mut columns, _) = batch.into_parts();
        let mut fields: Vec<_> = schema.fields().iter().map(|field| field.as_ref().clone()).collect();
        fields[at] = fields[at].clone().with_data_type(arrow_schema::DataType::Int64);
        columns[at] = Arc::new(arrow_array::Int64Array::from(vec![40, 41, 42]));
        let schema = Arc::new(arrow_schema::Schema::new_with_metadata(fields, schema.metadata().clone()));
        arrow_array::RecordBatch::try_new(schema, columns).unwrap()
    });
    let lines = service.post_as("/predict", kind, "application/x-ndjson", &named).lines();
    assert_eq!(lines.iter().map(|line| line["id"].as_i64().unwrap()).collect::<Vec<_>>(), [40, 41, 42]);
    let broken = service.post_as("/predict", kind, "*/*", &body[..body.len() / 2]);
    assert_eq!(broken.status, 400, "half a stream is none: {}", broken.text());
}

#[test]
fn explanations_add_up() {
    let folder = Folder::new();
    let (model, graphs) = trained(&folder, &["--preset", "paper", "--units", "6"]);
    let service = Service::start(&["-m", &model]);
    let few: String = graphs.lines().take(4).map(|line| format!("{line}\n")).collect();
    let predicted = service.post("/predict", &few).lines();
    for (line, predicted) in service.post("/explain", &few).lines().iter().zip(&predicted) {
        let sum: f64 = line["vertices"].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).sum();
        let decision = line["decision"].as_f64().unwrap();
        assert!((sum + line["intercept"].as_f64().unwrap() - decision).abs() < 1e-9, "{line}");
        assert_eq!(line["prediction"], predicted["prediction"], "of the same type");
        let class = line["class"].as_u64().unwrap() as usize;
        assert!((predicted["scores"][class].as_f64().unwrap() - decision).abs() < 1e-9);
    }
    let of_class = service.post("/explain?class=2", &few).lines();
    assert!(of_class.iter().all(|line| line["class"] == 2));
    assert!(service.post("/explain?class=9", &few).error().contains("expected one of 0, 1, 2"));

    let (accurate, _) = trained(&folder, &SMALL);
    let service = Service::start(&["-m", &accurate]);
    let predicted = service.post("/predict", &few).lines();
    for (line, predicted) in service.post("/explain", &few).lines().iter().zip(&predicted) {
        let sum: f64 = line["vertices"].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).sum();
        let class = line["class"].as_u64().unwrap() as usize;
        let expected = predicted["scores"][class].as_f64().unwrap();
        assert!((sum + line["intercept"].as_f64().unwrap() - expected).abs() < 1e-6, "{line}");
    }
}

#[test]
fn several_models_have_names_and_cards() {
    let folder = Folder::new();
    let (model, graphs) = trained(&folder, &SMALL);
    let second = folder.at("second.safetensors");
    stepwell()
        .args(["train", "b-easy-small", "-q", "-m", &second, "--units", "4", "--preset", "paper"])
        .assert()
        .success();
    let service = Service::start(&["-m", &model, "-m", &format!("other={second}")]);
    let graph = graphs.lines().next().unwrap();
    assert!(service.post("/predict", graph).error().contains("model, other"));
    let unknown = service.post("/predict?model=third", graph);
    assert_eq!((unknown.status, unknown.error().contains("model, other")), (404, true));
    for (name, path) in [("model", &model), ("other", &second)] {
        let width = |body: &str| {
            service.post(&format!("/embed?model={name}"), body).lines()[0]["embedding"]
                .as_array()
                .unwrap()
                .len()
        };
        let card: Value = serde_json::from_str(&output(&["model", path, "--json"])).unwrap();
        assert_eq!(card["columns"], json!(width(graph)));
        let cards: Value = serde_json::from_slice(&service.get("/models").body).unwrap();
        assert_eq!(cards[name], card);
    }
    let page = service.get("/");
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    assert!(page.text().contains("other") && page.text().contains("leave-one-out"));
    assert_eq!(service.get("/health").text(), "{\"status\":\"ok\"}");
}

#[test]
fn a_card_says_what_a_model_is() {
    let folder = Folder::new();
    let (model, _) = trained(&folder, &SMALL);
    let card: Value = serde_json::from_str(&output(&["model", &model, "--json"])).unwrap();
    assert_eq!(card["task"], "classification");
    assert_eq!(card["classes"], json!([0, 1, 2]));
    assert_eq!(card["graphs"], json!(300));
    assert_eq!((&card["expansion"], &card["expansion_columns"]), (&json!("landmarks"), &json!(50)));
    assert_eq!(card["changed"], json!({ "units": 8, "landmarks": 50 }));
    let chosen: Vec<&str> =
        card["choices"].as_array().unwrap().iter().map(|choice| choice["option"].as_str().unwrap()).collect();
    assert_eq!(chosen, ["structure", "wl_weight", "gaussian_width"]);
    assert_eq!(card["bytes"], json!(fs::metadata(&model).unwrap().len()));
    let sum = Command::new("sha256sum").arg(&model).output().unwrap();
    assert!(String::from_utf8(sum.stdout).unwrap().starts_with(card["sha256"].as_str().unwrap()));
    let text = output(&["model", &model]);
    assert!(text.contains("3 classes: 0, 1, 2") && text.contains("units"), "{text}");
    super::super::failure(&["model", "Cargo.toml"], 1);
}
