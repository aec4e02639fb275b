use anyhow::{Result, ensure};
use clap::Args;

use crate::terminal::Terminal;
use stepwell_data::catalog::{Catalog, Location};
use stepwell_data::counted;

/// Download a dataset into the cache
///
/// Downloads from the TU Dortmund collection, or from the address in the environment variable
/// STEPWELL_URL, into the folder in STEPWELL_CACHE or else the user's cache folder. Other commands
/// download what they need themselves; this command does it ahead of time.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  stepwell fetch MUTAG
  STEPWELL_URL=https://mirror.example.org/tud stepwell fetch ENZYMES")]
pub struct Fetch {
    /// The dataset's name, as in 'stepwell datasets'
    name: String,

    /// SHA-256 checksum that the downloaded file must have
    #[arg(long, value_name = "HEX")]
    sha256: Option<String>,

    /// Download even if the dataset is already on this machine
    #[arg(long)]
    force: bool,
}

impl Fetch {
    pub fn run(&self, terminal: &Terminal) -> Result<()> {
        let catalog = Catalog::from_environment(None);
        match catalog.locate(&self.name)? {
            Location::Remote(_) => {}
            Location::Path(path) if !self.force && self.sha256.is_none() => {
                terminal.note(&format!("{} is already on this machine: {}", self.name, path.display()));
                return Ok(());
            }
            location => ensure!(
                matches!(location, Location::Path(_)) && !self.name.contains(['/', '\\']),
                "'{}' is not the name of a dataset to download; 'stepwell datasets' lists names",
                self.name
            ),
        }
        let path = terminal.downloading(&self.name, |progress| {
            catalog.fetch(&self.name, self.sha256.as_deref(), progress)
        })?;
        let dataset = stepwell_data::catalog::read(&path)?;
        terminal.note(&format!("{}: {} in {}", self.name, counted(dataset.len(), "graph"), path.display()));
        Ok(())
    }
}
