use anyhow::{Context, Result};
use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::args::Arguments;
use crate::terminal::Terminal;

/// Print a script that completes commands and options in a shell
#[derive(Args, Debug)]
#[command(after_help = "Example:
  stepwell completions bash > ~/.local/share/bash-completion/completions/stepwell")]
pub struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub fn run(&self, terminal: &Terminal) -> Result<()> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Arguments::command(), "stepwell", &mut script);
        terminal.print(String::from_utf8(script).context("completion script")?.trim_end())
    }
}
