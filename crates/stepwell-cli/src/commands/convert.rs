use std::io;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use stepwell_data::{Place, ReadOptions, Untargeted, catalog, counted, jsonl};

use crate::args::Input;
use crate::terminal::Terminal;

/// Write a dataset in another format
///
/// The extension of OUT selects the format: .jsonl, .parquet or .zip (TU Dortmund layout). A
/// name without an extension is a folder of text files (TU Dortmund layout); '-' writes JSON
/// lines to standard output. OUT is written completely or not at all.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  stepwell convert MUTAG mutag.parquet
  stepwell convert graphs.jsonl graphs.zip --lossy
  stepwell convert mols.csv mols.parquet --smiles smiles --target logS
  stepwell convert tox21.csv tox21.parquet --smiles smiles --target NR-AR,NR-ER --groups scaffold
  stepwell convert b-easy - | head -n 1")]
pub struct Convert {
    #[command(flatten)]
    input: Input,

    /// Where to write
    out: PathBuf,

    /// Column with groups (scaffolds, patients); OUT keeps it under the same name. With --smiles,
    /// 'scaffold' groups molecules by their scaffold
    #[arg(long, value_name = "COLUMN")]
    groups: Option<String>,

    /// Drop what OUT's format cannot hold, instead of failing
    #[arg(long)]
    lossy: bool,
}

impl Convert {
    pub fn run(&self, terminal: &Terminal) -> Result<()> {
        self.input.is_not(&self.out)?;
        let reading = ReadOptions { groups: self.groups.clone(), ..self.input.reading(Untargeted::Keep) };
        let dataset = terminal.load_with(&self.input, &reading)?;
        if self.out.as_os_str() == "-" {
            let stdout = io::BufWriter::new(io::stdout().lock());
            let mut out = jsonl::Writer::new(stdout, Place::file("standard output"));
            out.write(&dataset)?;
            out.finish()?;
            if let Some(lost) = catalog::names_lost(&dataset) {
                terminal.note(&format!("note: not written: {lost}"));
            }
            return Ok(());
        }
        let out = self.out.display();
        let write = || catalog::write(&dataset, &self.out, self.lossy);
        let lost = terminal.busy(&format!("writing {out}"), || terminal.creating(&self.out, write))?;
        if !lost.is_empty() {
            terminal.note(&format!("note: not written: {}", lost.join(", ")));
        }
        terminal.note(&format!("wrote {} to {out}", counted(dataset.len(), "graph")));
        Ok(())
    }
}
