//! The page at `/`: the served models, and how to send requests.

use stepwell_data::models::Card;
use stepwell_lab::picture::page::{Cell, Page, Table};

use crate::registry::{Entry, Registry};

pub(crate) fn page(registry: &Registry) -> String {
    let mut page = Page::new("Stepwell");
    let models = match registry.0.len() {
        1 => "one model".to_owned(),
        many => format!("{many} models"),
    };
    page.paragraph(&format!(
        "Stepwell {} serves {models}. Send graphs as JSON lines, one per line, or as an Arrow stream.",
        env!("CARGO_PKG_VERSION")
    ));
    for (at, entry) in registry.0.iter().enumerate() {
        page.section(&format!("model-{at}"), &entry.name);
        section(&mut page, entry, registry.0.len() > 1);
    }
    page.section("paths", "Paths");
    page.table(&paths());
    page.finish()
}

fn section(page: &mut Page, entry: &Entry, several: bool) {
    let Entry { name, card, .. } = entry;
    page.facts(&card.facts());
    page.code(&example(card, several.then_some(name)));
    if card.targets.len() > 1 {
        let text = |value: Option<String>| Cell::text(value.unwrap_or_default());
        let rows = card.targets.iter().map(|target| {
            vec![
                Cell::text(&target.name),
                text(target.graphs.map(|graphs| graphs.to_string())),
                Cell::text(target.alpha.to_string()),
                text(card.metric.zip(target.leave_one_out).map(|(metric, value)| metric.shown(value))),
            ]
        });
        let header = ["target", "graphs", "alpha", "leave-one-out"].map(str::to_owned).to_vec();
        page.table(&Table { caption: "Targets".into(), header, rows: rows.collect() });
    }
    page.details(&format!("options-{name}"), "All options", false, |page| {
        let options = stepwell::config::options();
        let fact = |option: &stepwell::config::OptionInfo| {
            (option.name.to_owned(), option.value(&card.options).to_string())
        };
        page.facts(&options.iter().map(fact).collect::<Vec<_>>());
    });
}

/// A command with a graph that the model accepts.
fn example(card: &Card, model: Option<&String>) -> String {
    let path = if card.task.is_some() { "/predict" } else { "/embed" };
    let query = model.map_or(String::new(), |name| format!("?model={name}"));
    let mut row = serde_json::json!({ "id": "a", "num_nodes": 3, "src": [0, 1], "dst": [1, 2] });
    let inputs = &card.inputs;
    if inputs.attributes > 0 && inputs.attributes <= 8 {
        row["x"] = vec![0.0; 3 * inputs.attributes].into();
        row["x_dim"] = inputs.attributes.into();
    }
    let first = |labels: &Vec<i32>| labels.first().copied().unwrap_or(0);
    match &inputs.labels[..] {
        [] => {}
        [known] => row["node_label"] = vec![first(known); 3].into(),
        several => {
            let labels: Vec<i32> = several.iter().map(first).collect();
            row["node_label"] = vec![serde_json::Value::from(labels); 3].into();
        }
    }
    if inputs.attributes > 8 {
        return format!("curl --data-binary @graphs.jsonl 'http://HOST{path}{query}'");
    }
    format!("curl --data-binary '{row}' 'http://HOST{path}{query}'")
}

fn paths() -> Table {
    let rows = [
        (
            "POST /predict",
            "a prediction per graph; proba=1 adds probabilities, coverage=0.9 adds sets or intervals, per_class=1 covers every class, precision=0.9 or recall=0.9 moves the threshold for class=",
        ),
        ("POST /embed", "a vector per graph"),
        (
            "POST /explain",
            "each vertex's contribution to a decision value; class= selects the class or target",
        ),
        ("GET /models", "this page as JSON"),
        ("GET /health", "whether the service is up"),
        ("GET /metrics", "counts and times for Prometheus"),
    ];
    let row = |(path, what)| vec![Cell::text(path), Cell::text(what)];
    Table {
        caption: "The first three accept skip_bad=1, and model= if several models are served".into(),
        header: vec!["path".into(), "response".into()],
        rows: rows.into_iter().map(row).collect(),
    }
}
