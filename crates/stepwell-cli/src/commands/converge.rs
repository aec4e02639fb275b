use anyhow::{Context, Result, anyhow};
use clap::Args;
use serde::Serialize;
use stepwell::config::ModelConfig;
use stepwell::model::Model;
use stepwell_data::{Untargeted, counted};
use stepwell_lab::convergence::{BlockConvergence, ConvergenceStudy};
use stepwell_lab::table::{Cell, Column, Table};

use crate::BadUsage;
use crate::args::Input;
use crate::embedding::note_ignored;
use crate::model::ModelArgs;
use crate::terminal::{Terminal, shown};

/// Compare the proved bounds on convergence with measurements
///
/// Prints for every block the contraction factor K, the paper's bound T on the number of
/// sweeps, the measured sweeps, and a bound on the distance to the fixed point. If K is 1 or
/// more, there is no bound, though most such iterations still converge. Models with a pooling or
/// several reservoirs per block (--reservoirs) are not supported.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  stepwell converge MUTAG --spectral-radius 0.4
  stepwell converge b-hard --solver jacobi --recurrence orthogonal --json")]
pub struct Converge {
    #[command(flatten)]
    input: Input,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    model: ModelArgs,
}

#[derive(Serialize)]
struct ConvergenceSummary {
    dataset: String,
    graphs: usize,
    blocks: Vec<BlockConvergence>,
}

impl Converge {
    pub fn run(&self, terminal: &Terminal) -> Result<()> {
        let options = ModelConfig { concat: true, ..self.model.config().context(BadUsage)? };
        if options.levels() > 0 || options.reservoirs > 1 {
            let refusal = "'converge' supports neither pooling nor several reservoirs per block: remove --pool and --reservoirs";
            return Err(anyhow!(refusal).context(BadUsage));
        }
        let source = terminal.open(&self.input, Untargeted::Keep)?;
        let model = Model::new(options.clone(), terminal.survey(&source, false, &options)?.features)?;
        let (mut study, mut graphs, mut ignored) = (ConvergenceStudy::new(&model), 0, None);
        terminal.counting("converging", |progress| {
            source.visit(|piece| {
                study.add(&piece.graphs, |done| progress(graphs + done))?;
                graphs += piece.len();
                ignored = ignored.or_else(|| model.features.ignored_of_edges(&piece.graphs));
                Ok::<(), anyhow::Error>(())
            })
        })?;
        if let Some(carried) = ignored {
            note_ignored(carried, &options, "", terminal);
        }
        let summary = ConvergenceSummary { dataset: source.name, graphs, blocks: study.blocks() };
        if self.json { terminal.json(&summary) } else { terminal.print(&describe(&summary)) }
    }
}

fn describe(summary: &ConvergenceSummary) -> String {
    fn optional(value: Option<f64>, text: fn(f64) -> String) -> Cell {
        Cell::text(value.map_or("none".to_owned(), text))
    }
    let columns: [Column<BlockConvergence>; 10] = [
        ("stack.block", |block| Cell::text(format!("{}.{}", block.stack + 1, block.block + 1))),
        ("K max", |block| Cell::number(block.contraction_max, 3)),
        ("certified", |block| Cell::text(format!("{:.0} %", 100.0 * block.certified))),
        ("T mean", |block| optional(block.bound_mean, |bound| format!("{bound:.1}"))),
        ("sweeps", |block| Cell::number(block.sweeps_mean, 1)),
        ("most", |block| Cell::text(block.sweeps_max.to_string())),
        ("converged", |block| optional(block.converged, |share| format!("{:.0} %", 100.0 * share))),
        ("rate", |block| optional(block.rate_mean, |rate| format!("{rate:.3}"))),
        ("residual", |block| Cell::text(format!("{:.1e}", block.residual_max))),
        ("distance ≤", |block| optional(block.distance_max, |distance| format!("{distance:.1e}"))),
    ];
    let table = shown(&Table::of("", &summary.blocks, &columns));
    format!("{}, {}\n{table}", summary.dataset, counted(summary.graphs, "graph"))
}
