//! Embedding a dataset in pieces, as all commands do that embed graphs.

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

/// Takes the number of finished graphs, for a progress bar; returns whether to continue.
pub type Progress<'a> = &'a (dyn Fn(usize) -> ControlFlow<()> + Sync);

/// Embeds pieces of a dataset with a model, and counts what happens.
pub struct Embedder<'a> {
    pub model: &'a Model,
    /// Where pyramids are kept; only whole datasets are worth it.
    pub cache: Option<PyramidCache>,
    pub terminal: &'a Terminal,
    pub tally: Tally,
}

/// Counts and times so far.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Tally {
    pub graphs: usize,
    /// Vertices that have vectors, where those are what is embedded.
    #[serde(skip_serializing_if = "is_zero")]
    pub vertices: usize,
    pub coarsen_seconds: f64,
    pub prepare_seconds: f64,
    pub embed_seconds: f64,
    /// Mean sweeps of each reservoir, by stack, block and place in the block.
    pub sweeps_mean: Vec<f64>,
    /// Share of graphs that converged in all blocks; nothing where sweeps are fixed.
    pub converged: Option<f64>,
    /// Graphs without vertices, whose vectors are zero.
    pub empty: usize,
    /// Vertices whose label the model was not trained on.
    pub unknown_labels: usize,
    /// Entries whose edge has such a label.
    pub unknown_edge_labels: usize,
    /// What edges carry and the model ignores.
    #[serde(skip)]
    pub ignored: Option<&'static str>,
    /// What happened while graphs were pooled.
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

    /// Pools graphs, or finds them pooled in the cache.
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

    /// Makes graphs and their pyramid ready.
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

    /// Counts what notes report of graphs.
    fn look_at(&mut self, graphs: &GraphBatch) {
        let (tally, features) = (&mut self.tally, &self.model.features);
        tally.empty += graphs.iter().filter(|graph| graph.num_vertices() == 0).count();
        tally.unknown_labels += features.unknown_labels(graphs);
        tally.unknown_edge_labels += features.edges().unknown_labels(graphs);
        tally.ignored = tally.ignored.or_else(|| features.ignored_of_edges(graphs));
    }

    /// Pools, prepares and embeds the graphs of a piece; of a model of vertices, some of the
    /// vertices, or all.
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

    /// The graphs of a piece one by one, without those that cannot be embedded, and the reasons.
    pub fn embed_alone(
        &mut self,
        graphs: &GraphBatch,
        progress: Progress<'_>,
    ) -> Result<(Embedding, Vec<(usize, stepwell::Error)>)> {
        let (before, start) = (self.tally.graphs, Instant::now());
        let (embedding, bad) = self.model.embed_alone(graphs, |graphs| progress(before + graphs))?;
        self.look_at(graphs);
        self.tally.embed_seconds += start.elapsed().as_secs_f64();
        self.tally.add(&embedding.runs);
        self.tally.vertices += self.vertices_in(&embedding);
        Ok((embedding, bad))
    }

    fn vertices_in(&self, embedding: &Embedding) -> usize {
        match self.model.config.level {
            Level::Graph => 0,
            Level::Vertex => embedding.vectors.nrows(),
        }
    }

    /// Embeds graphs made ready before.
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
        self.tally.embed_seconds += start.elapsed().as_secs_f64();
        self.tally.add(&embedding.runs);
        self.tally.vertices += self.vertices_in(&embedding);
        Ok(embedding)
    }

    /// Embeds a piece of a dataset; errors name the graph that is to blame.
    pub fn embed_piece(
        &mut self,
        piece: &Dataset,
        before: usize,
        rows: Option<&[usize]>,
        progress: Progress<'_>,
    ) -> Result<Embedding> {
        self.embed(&piece.graphs, rows, progress).map_err(|error| match blamed(&error) {
            Some(graph) => {
                let name = ids(piece, before).swap_remove(graph);
                error.context(format!("graph '{name}' of {}", piece.name))
            }
            None => error,
        })
    }

    /// Notes what happened to the graphs: what poolings did, what the model ignores, and whether
    /// some graphs did not converge and what to do `when`.
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
        for (count, of) in
            [(self.tally.unknown_labels, "vertices"), (self.tally.unknown_edge_labels, "edges")]
        {
            if count > 0 {
                self.terminal.note(&format!(
                    "note: {count} {of} have a label unknown to the model, which treats them as {of} without a label"
                ));
            }
        }
        if let Some(carried) = self.tally.ignored {
            note_ignored(carried, &self.model.config, when, self.terminal);
        }
        if let Some(converged) = self.tally.converged.filter(|&share| share < 1.0) {
            self.terminal.note(&format!(
                "note: {:.1} % of the graphs did not converge in {} sweeps; raise --max-iter or lower --spectral-radius{when}",
                100.0 * (1.0 - converged),
                self.model.config.max_iter
            ));
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

/// Notes that a model ignores what edges carry, and why.
pub fn note_ignored(carried: &str, config: &ModelConfig, when: &str, terminal: &Terminal) {
    let why = if config.edge_gate == EdgeGate::None {
        format!("--edge-gate signs uses them{when}")
    } else {
        "the training graphs had none, or only one value".to_owned()
    };
    terminal.note(&format!("note: edges carry {carried}, which this model ignores; {why}"));
}

/// The graph of the batch that an error blames.
pub fn blamed(error: &anyhow::Error) -> Option<usize> {
    error.downcast_ref::<stepwell::Error>().and_then(stepwell::Error::graph)
}

/// The graphs' names; `before` graphs came before this piece.
pub fn ids(piece: &Dataset, before: usize) -> Vec<String> {
    match &piece.ids {
        Some(ids) => ids.clone(),
        None => (before..before + piece.len()).map(|index| index.to_string()).collect(),
    }
}
