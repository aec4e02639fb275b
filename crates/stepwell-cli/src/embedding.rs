//! Embeds a dataset in pieces, for all commands that embed graphs.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::time::Instant;

use anyhow::Result;
use serde::Serialize;
use stepwell::config::{EdgeGate, Level, ModelConfig};
use stepwell::graph::GraphBatch;
use stepwell::model::Model;
use stepwell::pool::Notes;
use stepwell::pyramid::Pyramid;
use stepwell::reservoir::{Convergence, Embedding, Prepared, Run};
use stepwell_data::Dataset;
use stepwell_data::cache::{self, PyramidCache};

use crate::commands::stats::describe_notes;
use crate::terminal::Terminal;

/// Receives the number of finished graphs, for a progress bar; returns whether to continue.
pub type Progress<'a> = &'a (dyn Fn(usize) -> ControlFlow<()> + Sync);

/// Embeds pieces of a dataset with a model, and collects counts and times.
pub struct Embedder<'a> {
    pub model: &'a Model,
    /// The cache of pyramids; used only for whole datasets.
    pub cache: Option<PyramidCache>,
    pub terminal: &'a Terminal,
    pub tally: Tally,
}

/// Counts and times so far.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Tally {
    pub graphs: usize,
    /// Embedded vertices, if the model embeds vertices.
    #[serde(skip_serializing_if = "is_zero")]
    pub vertices: usize,
    pub coarsen_seconds: f64,
    pub prepare_seconds: f64,
    pub embed_seconds: f64,
    /// Mean sweeps of each reservoir, by stack, block and position in the block.
    pub sweeps_mean: Vec<f64>,
    /// Share of graphs that converged in all blocks; `None` if the number of sweeps is fixed.
    pub converged: Option<f64>,
    /// Graphs without vertices, whose vectors are zero.
    pub empty: usize,
    /// Vertices whose label the model was not trained on.
    pub unknown_labels: usize,
    /// Stored entries whose edge has such a label.
    pub unknown_edge_labels: usize,
    /// The edge features that the model ignores.
    #[serde(skip)]
    pub ignored: Option<&'static str>,
    /// Notes about the pooling.
    #[serde(skip)]
    pub pooling: Notes,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl<'a> Embedder<'a> {
    pub fn new(model: &'a Model, cache: Option<PyramidCache>, terminal: &'a Terminal) -> Self {
        let converged = model.config.fixed_sweeps.is_none().then_some(1.0);
        Self { model, cache, terminal, tally: Tally { converged, ..Tally::default() } }
    }

    /// Pools graphs, or loads their pyramid from the cache.
    pub fn coarsen(&mut self, graphs: &GraphBatch, progress: Progress<'_>) -> Result<Pyramid> {
        let Some(pooling) = self.model.config.pooling() else { return Ok(Pyramid::default()) };
        let start = Instant::now();
        let (before, levels) = (self.tally.graphs, self.model.config.levels());
        let going = |_| progress(before);
        let (pyramid, warnings) = cache::coarsen(self.cache.as_ref(), graphs, &pooling, levels, going)?;
        warnings.iter().for_each(|text| self.terminal.note(&format!("warning: {text}")));
        self.tally.coarsen_seconds += start.elapsed().as_secs_f64();
        self.tally.pooling += pyramid.notes();
        Ok(pyramid)
    }

    /// Prepares graphs and their pyramid.
    pub fn prepare<'p>(
        &mut self,
        graphs: &GraphBatch,
        pyramid: impl Into<Cow<'p, Pyramid>>,
        progress: Progress<'_>,
    ) -> Result<Prepared> {
        let (before, start) = (self.tally.graphs, Instant::now());
        let prepared = self.model.prepare(graphs, pyramid, || progress(before))?;
        self.tally.prepare_seconds += start.elapsed().as_secs_f64();
        self.look_at(graphs);
        Ok(prepared)
    }

    /// Counts the graphs that notes are about.
    fn look_at(&mut self, graphs: &GraphBatch) {
        let (tally, features) = (&mut self.tally, &self.model.features);
        tally.empty += graphs.iter().filter(|graph| graph.num_vertices() == 0).count();
        tally.unknown_labels += features.unknown_labels(graphs);
        tally.unknown_edge_labels += features.edges().unknown_labels(graphs);
        tally.ignored = tally.ignored.or_else(|| features.ignored_of_edges(graphs));
    }

    /// Pools, prepares and embeds the graphs of a piece; for a model of vertices, the given
    /// vertices or all.
    pub fn embed(
        &mut self,
        graphs: &GraphBatch,
        rows: Option<&[usize]>,
        progress: Progress<'_>,
    ) -> Result<Embedding> {
        let pyramid = self.coarsen(graphs, progress)?;
        let prepared = self.prepare(graphs, pyramid, progress)?;
        self.embed_prepared(&prepared, rows, progress)
    }

    /// Embeds the graphs of a piece one by one. Returns the vectors of those that succeed, and the
    /// reasons for the others.
    pub fn embed_alone(
        &mut self,
        graphs: &GraphBatch,
        progress: Progress<'_>,
    ) -> Result<(Embedding, Vec<(usize, stepwell::Error)>)> {
        let (before, start) = (self.tally.graphs, Instant::now());
        let (embedding, bad) = self.model.embed_alone(graphs, |graphs| progress(before + graphs))?;
        self.look_at(graphs);
        self.count(&embedding, start.elapsed().as_secs_f64());
        Ok((embedding, bad))
    }

    /// Counts graphs, or vertices, that were embedded in so many seconds.
    pub fn count(&mut self, embedding: &Embedding, seconds: f64) {
        self.tally.embed_seconds += seconds;
        self.tally.add(&embedding.runs);
        if self.model.config.level == Level::Vertex {
            self.tally.vertices += embedding.vectors.nrows();
        }
    }

    /// Embeds prepared graphs.
    pub fn embed_prepared(
        &mut self,
        prepared: &Prepared,
        rows: Option<&[usize]>,
        progress: Progress<'_>,
    ) -> Result<Embedding> {
        let before = self.tally.graphs;
        let start = Instant::now();
        let done = |graphs: usize| progress(before + graphs);
        let embedding = self.model.embed_prepared(prepared, rows, done)?;
        self.count(&embedding, start.elapsed().as_secs_f64());
        Ok(embedding)
    }

    /// Embeds a piece of a dataset; errors name the graph at fault.
    pub fn embed_piece(
        &mut self,
        piece: &Dataset,
        before: usize,
        rows: Option<&[usize]>,
        progress: Progress<'_>,
    ) -> Result<Embedding> {
        self.embed(&piece.graphs, rows, progress).map_err(|error| named(error, piece, before))
    }

    /// Prints notes about the pooling, about features that the model ignores, and about graphs that
    /// did not converge. `when` says when the advice applies.
    pub fn note(&self, when: &str) {
        for note in describe_notes(&self.tally.pooling) {
            self.terminal.note(&format!("note: {note}"));
        }
        match self.tally.empty {
            0 => {}
            1 => self.terminal.note("note: one graph has no vertices; its vector is zero"),
            empty => {
                self.terminal.note(&format!("note: {empty} graphs have no vertices; their vectors are zero"))
            }
        }
        for (count, one, many) in [
            (self.tally.unknown_labels, "vertex", "vertices"),
            (self.tally.unknown_edge_labels, "edge", "edges"),
        ] {
            match count {
                0 => {}
                1 => self.terminal.note(&format!(
                    "note: 1 {one} has a label unknown to the model, which treats it as {article} {one} without a label",
                    article = if one == "edge" { "an" } else { "a" }
                )),
                count => self.terminal.note(&format!(
                    "note: {count} {many} have a label unknown to the model, which treats them as {many} without a label"
                )),
            }
        }
        if let Some(carried) = self.tally.ignored {
            note_ignored(carried, &self.model.config, when, self.terminal);
        }
        if let Some(converged) = self.tally.converged.filter(|&share| share < 1.0) {
            self.terminal.note(&format!("note: {}{when}", unconverged(converged, &self.model.config)));
        }
    }
}

impl Tally {
    /// Counts more graphs.
    pub fn add(&mut self, runs: &ndarray::Array2<Run>) {
        let (before, more) = (self.graphs as f64, runs.nrows() as f64);
        let all = (before + more).max(1.0);
        let settled = |run: &Run| run.converged != Convergence::No;
        let converged = runs.outer_iter().filter(|graph| graph.iter().all(settled)).count();
        if let Some(share) = self.converged.as_mut().filter(|_| before + more > 0.0) {
            *share = (*share * before + converged as f64) / all;
        }
        self.sweeps_mean.resize(runs.ncols(), 0.0);
        for (mean, column) in self.sweeps_mean.iter_mut().zip(runs.columns()) {
            let sum: f64 = column.iter().map(|run| f64::from(run.sweeps)).sum();
            *mean = (*mean * before + sum) / all;
        }
        self.graphs += runs.nrows();
    }
}

/// Says that not all graphs converged, given the share of those that did.
pub fn unconverged(converged: f64, config: &ModelConfig) -> String {
    format!(
        "{:.1} % of the graphs did not converge in {} sweeps; raise --max-iter or lower --spectral-radius",
        100.0 * (1.0 - converged),
        config.max_iter
    )
}

/// Prints a note that a model ignores edge features, with the reason.
pub fn note_ignored(carried: &str, config: &ModelConfig, when: &str, terminal: &Terminal) {
    let why = if config.edge_gate == EdgeGate::None {
        format!("to use them, pass --edge-gate signs{when}")
    } else {
        "the training graphs had none, or only one value".to_owned()
    };
    terminal.note(&format!("note: edges carry {carried}, which this model ignores; {why}"));
}

/// The graph of the batch that caused an error.
pub fn blamed(error: &anyhow::Error) -> Option<usize> {
    error.downcast_ref::<stepwell::Error>().and_then(stepwell::Error::graph)
}

/// An error that blames a graph of a piece, with the name of the graph.
pub fn named(error: anyhow::Error, piece: &Dataset, before: usize) -> anyhow::Error {
    match blamed(&error) {
        Some(graph) => {
            let name = ids(piece, before).swap_remove(graph);
            error.context(format!("graph '{name}' of {}", piece.name))
        }
        None => error,
    }
}

/// The names of the graphs; `before` graphs precede this piece.
pub fn ids(piece: &Dataset, before: usize) -> Vec<String> {
    match &piece.ids {
        Some(ids) => ids.clone(),
        None => (before..before + piece.len()).map(|index| index.to_string()).collect(),
    }
}
