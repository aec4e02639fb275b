//! One file per command, with its arguments and its implementation.

mod coarsen;
mod completions;
mod converge;
mod convert;
mod datasets;
mod demo;
mod draw;
mod embed;
mod evaluate;
mod explain;
mod fetch;
mod model;
mod plot;
mod predict;
mod reproduce;
mod runs;
mod serve;
pub mod stats;
mod train;

use anyhow::Result;
use clap::Subcommand;

use crate::terminal::Terminal;

#[derive(Debug, Subcommand)]
pub enum Command {
    Demo(demo::Demo),
    Datasets(datasets::Datasets),
    Fetch(fetch::Fetch),
    Convert(convert::Convert),
    Stats(stats::Stats),
    Embed(Box<embed::Embed>),
    Train(Box<train::Train>),
    Model(model::Model),
    Predict(predict::Predict),
    Serve(serve::Serve),
    Evaluate(Box<evaluate::Evaluate>),
    Reproduce(Box<reproduce::Reproduce>),
    Runs(runs::Runs),
    Plot(Box<plot::Plot>),
    Draw(Box<draw::Draw>),
    Explain(explain::Explain),
    Coarsen(coarsen::Coarsen),
    Converge(Box<converge::Converge>),
    Completions(completions::Completions),
}

pub fn run(command: &Command, terminal: &Terminal) -> Result<()> {
    match command {
        Command::Demo(command) => command.run(terminal),
        Command::Datasets(command) => command.run(terminal),
        Command::Fetch(command) => command.run(terminal),
        Command::Convert(command) => command.run(terminal),
        Command::Stats(command) => command.run(terminal),
        Command::Embed(command) => command.run(terminal),
        Command::Train(command) => command.run(terminal),
        Command::Model(command) => command.run(terminal),
        Command::Predict(command) => command.run(terminal),
        Command::Serve(command) => command.run(terminal),
        Command::Evaluate(command) => command.run(terminal),
        Command::Reproduce(command) => command.run(terminal),
        Command::Runs(command) => command.run(terminal),
        Command::Plot(command) => command.run(terminal),
        Command::Draw(command) => command.run(terminal),
        Command::Explain(command) => command.run(terminal),
        Command::Coarsen(command) => command.run(terminal),
        Command::Converge(command) => command.run(terminal),
        Command::Completions(command) => command.run(terminal),
    }
}
