use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use serde_json::Value;
use stepwell_data::models::{self, Card};

use crate::terminal::{Terminal, table};

/// Describe a saved model
///
/// Prints what the model predicts, the features it needs, its leave-one-out score, what
/// training chose, the options that differ from its preset, the version that wrote it and the
/// checksum of the file.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  stepwell model model.safetensors
  stepwell model model.safetensors --json")]
pub struct Model {
    /// A saved model, written by 'stepwell train' or by save() in Python
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Print one JSON object, with all options
    #[arg(long)]
    json: bool,
}

impl Model {
    pub fn run(&self, terminal: &Terminal) -> Result<()> {
        let (_, card) = models::read_with_card(&self.file)?;
        if self.json { terminal.json(&card) } else { terminal.print(&describe(&card)) }
    }
}

/// The card as lines of text.
fn describe(card: &Card) -> String {
    let facts = card.facts();
    let width = facts.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let mut lines: Vec<String> =
        facts.iter().map(|(name, value)| format!("{name:width$}  {value}")).collect();
    if card.targets.len() > 1 {
        let text = |value: Option<String>| value.unwrap_or_default();
        let row = |target: &models::TargetCard| {
            vec![
                target.name.clone(),
                text(target.graphs.map(|graphs| graphs.to_string())),
                target.alpha.to_string(),
                text(target.balance.map(|balance| balance.to_string())),
                text(card.metric.zip(target.leave_one_out).map(|(metric, value)| metric.shown(value))),
            ]
        };
        lines.push(String::new());
        let header = ["target", "graphs", "alpha", "balance", "leave-one-out"];
        lines.push(table(&header, card.targets.iter().map(row)));
    }
    if !card.changed.is_empty() {
        lines.push(String::new());
        let row = |(name, value): (&String, &Value)| vec![name.clone(), value.to_string()];
        lines.push(table(&["changed option", "value"], card.changed.iter().map(row)));
    }
    lines.join("\n")
}
