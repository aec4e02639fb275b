//! Serve a saved model: reads one graph per line (JSON), prints one prediction per line.
//!
//! `stepwell train b-easy-small -m model.safetensors`
//! `cargo run --release -p stepwell-data --example serve -- model.safetensors < graphs.jsonl`

use std::error::Error;
use std::io::{self, BufRead, Write};
use std::ops::ControlFlow::Continue;
use std::path::Path;

use stepwell::model::{Saved, TrainedModel};
use stepwell_data::{Place, jsonl, models};

fn answer(model: &TrainedModel, line: &str) -> Result<String, Box<dyn Error>> {
    let reader = jsonl::Reader::new(line.as_bytes(), Place::file("request"));
    let mut answers = Vec::new();
    for piece in reader {
        let graphs = piece?.graphs;
        let predictions = model.predict(&graphs, |_| Continue(()))?;
        answers.push(format!("{:?} {:.3}", predictions.classes, predictions.scores));
    }
    Ok(answers.join("\n"))
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: serve MODEL.safetensors")?;
    let Saved::Trained(model) = models::read(Path::new(&path))? else {
        return Err("this model has no readout".into());
    };
    for line in io::stdin().lock().lines() {
        // A bad request must not end the service.
        let text = answer(&model, &line?).unwrap_or_else(|error| format!("error: {error}"));
        writeln!(io::stdout(), "{text}")?;
    }
    Ok(())
}
