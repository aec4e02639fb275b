//! Embeds the pieces of a dataset on a GPU while the CPU prepares the next piece.
//!
//! A thread of its own waits for the GPU. This thread reads and prepares a piece, queues it, and
//! then processes the vectors of the piece before it. So at most two pieces are prepared at a
//! time, and pieces are processed in the order in which they were read. On the CPU, which needs
//! all threads for a single piece, nothing overlaps.

use std::borrow::Cow;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread;
use std::time::Instant;

use anyhow::{Result, anyhow};
use stepwell::graph::GraphBatch;
use stepwell::reservoir::{Embedding, Prepared};
use stepwell_data::Dataset;

use crate::embedding::{Embedder, Progress, named};

/// A piece with more vertices, or more entries, is alone in memory. Most pieces are smaller:
/// only a single large graph makes a piece that large.
const ALONE_VERTICES: usize = 1 << 18;
const ALONE_ENTRIES: usize = 1 << 22;

/// A piece to embed.
pub struct Piece<'p> {
    /// The graphs. An owned piece may wait for the next one; a borrowed piece does not.
    pub dataset: Cow<'p, Dataset>,
    /// The number of graphs before it.
    pub before: usize,
    /// The vertices to embed, for a model of vertices.
    pub rows: Option<Vec<usize>>,
}

/// A prepared piece on its way to the GPU.
struct Job {
    prepared: Prepared,
    rows: Option<Vec<usize>>,
    /// The number of graphs embedded before it.
    before: usize,
}

/// An embedding, or why there is none, and the seconds it took.
type Answer = (stepwell::Result<Embedding>, f64);

/// Pieces on their way. `take` processes each with its vectors.
struct Line<'l, 'a, F> {
    embedder: &'l mut Embedder<'a>,
    take: F,
    progress: Progress<'l>,
    jobs: SyncSender<Job>,
    answers: Receiver<Answer>,
    /// The piece that was queued last.
    waiting: Option<Piece<'static>>,
    /// Graphs that were queued.
    queued: usize,
    /// Whether `take` has failed; no piece follows.
    failed: bool,
}

impl<'a> Embedder<'a> {
    /// Embeds the pieces that `pass` produces. `take` gets each piece, in order, with its vectors
    /// or the reason why there are none.
    pub fn embed_pieces(
        &mut self,
        progress: Progress<'_>,
        pass: impl FnOnce(&mut dyn FnMut(Piece<'_>) -> Result<()>) -> Result<()>,
        mut take: impl FnMut(&mut Self, Piece<'_>, Result<Embedding>) -> Result<()>,
    ) -> Result<()> {
        let model = self.model;
        if model.device.is_processor() || model.refused_by(&model.device).is_some() {
            return pass(&mut |piece| {
                let embedding =
                    self.embed_piece(&piece.dataset, piece.before, piece.rows.as_deref(), progress);
                take(self, piece, embedding)
            });
        }
        // Threads other than those of a pool would use the global one, whatever --threads says.
        let threads = rayon::current_thread_index().map(|_| rayon::current_num_threads());
        let pool = threads.map(|count| rayon::ThreadPoolBuilder::new().num_threads(count).build());
        let pool = pool.transpose()?;
        thread::scope(|scope| {
            let (jobs, queue) = sync_channel::<Job>(1);
            let (sender, answers) = channel();
            scope.spawn(move || {
                for Job { prepared, rows, before } in queue {
                    let start = Instant::now();
                    let embed = || {
                        model.embed_prepared(&prepared, rows.as_deref(), |graphs| progress(before + graphs))
                    };
                    let found = pool.as_ref().map_or_else(embed, |pool| pool.install(embed));
                    drop(prepared);
                    if sender.send((found, start.elapsed().as_secs_f64())).is_err() {
                        return;
                    }
                }
            });
            let queued = self.tally.graphs;
            let mut line =
                Line { embedder: self, take, progress, jobs, answers, waiting: None, queued, failed: false };
            let passed = pass(&mut |piece| line.push(piece));
            // What came before an error is processed all the same.
            let finished = if line.failed { Ok(()) } else { line.finish() };
            passed.and(finished)
        })
    }
}

impl<'a, F> Line<'_, 'a, F>
where
    F: FnMut(&mut Embedder<'a>, Piece<'_>, Result<Embedding>) -> Result<()>,
{
    /// Prepares and queues a piece, then finishes the one before.
    fn push(&mut self, piece: Piece<'_>) -> Result<()> {
        let Piece { dataset, before, rows } = piece;
        let dataset = match dataset {
            Cow::Owned(dataset) => dataset,
            Cow::Borrowed(dataset) => {
                self.finish()?;
                let found = self.embedder.embed_piece(dataset, before, rows.as_deref(), self.progress);
                self.queued = self.embedder.tally.graphs;
                return self.take(Piece { dataset: Cow::Borrowed(dataset), before, rows }, found);
            }
        };
        let alone = is_large(&dataset.graphs);
        if alone {
            self.finish()?;
        }
        let pyramid = self.embedder.coarsen(&dataset.graphs, self.progress);
        let prepared =
            pyramid.and_then(|pyramid| self.embedder.prepare(&dataset.graphs, pyramid, self.progress));
        let job = match prepared {
            Ok(prepared) => Job { prepared, rows: rows.clone(), before: self.queued },
            Err(error) => {
                self.finish()?;
                let error = named(error, &dataset, before);
                return self.take(Piece { dataset: Cow::Owned(dataset), before, rows }, Err(error));
            }
        };
        self.queued += dataset.len();
        self.jobs.send(job).map_err(|_| lost())?;
        self.finish()?;
        self.waiting = Some(Piece { dataset: Cow::Owned(dataset), before, rows });
        if alone { self.finish() } else { Ok(()) }
    }

    /// Waits for the vectors of the last piece, if there is one, and processes them.
    fn finish(&mut self) -> Result<()> {
        let Some(piece) = self.waiting.take() else { return Ok(()) };
        let (found, seconds) = self.answers.recv().map_err(|_| lost())?;
        let found = match found {
            Ok(embedding) => {
                self.embedder.count(&embedding, seconds);
                Ok(embedding)
            }
            Err(error) => Err(named(error.into(), &piece.dataset, piece.before)),
        };
        self.take(piece, found)
    }

    fn take(&mut self, piece: Piece<'_>, found: Result<Embedding>) -> Result<()> {
        let taken = (self.take)(self.embedder, piece, found);
        self.failed |= taken.is_err();
        taken
    }
}

fn is_large(graphs: &GraphBatch) -> bool {
    graphs.num_vertices() > ALONE_VERTICES || graphs.num_entries() > ALONE_ENTRIES
}

fn lost() -> anyhow::Error {
    anyhow!("the thread that waits for the GPU has ended; please report this")
}

#[cfg(test)]
mod tests {
    use std::fmt;
    use std::ops::ControlFlow::Continue;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use anyhow::bail;
    use stepwell::Error;
    use stepwell::config::ModelConfig;
    use stepwell::graph::{BatchBuilder, EdgeList};
    use stepwell::model::Model;
    use stepwell::reservoir::{Device, Embedded, Engine, Progress, Weights, Work, embed_on};

    use super::*;
    use crate::molecules::NoChemistry;
    use crate::terminal::Terminal;

    /// An engine that computes on this processor, and only while enough pieces were pushed.
    #[derive(Default)]
    struct Slow {
        pushed: AtomicUsize,
        /// Pieces that were embedded.
        done: AtomicUsize,
        /// Pieces that must have been pushed before the first is embedded.
        wanted: usize,
        /// The piece that cannot be embedded.
        bad: Option<usize>,
    }

    impl fmt::Debug for Slow {
        fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("Slow")
        }
    }

    impl Engine for Slow {
        fn name(&self) -> String {
            "a slow GPU".into()
        }

        fn refuses(&self, _: &Weights, _: &ModelConfig) -> Option<String> {
            None
        }

        fn embed(&self, work: Work<'_>, progress: Progress<'_>) -> stepwell::Result<Embedded> {
            let start = Instant::now();
            while self.pushed.load(Ordering::SeqCst) < self.wanted {
                assert!(start.elapsed() < Duration::from_secs(60), "nothing is prepared meanwhile");
                thread::sleep(Duration::from_millis(1));
            }
            if self.bad == Some(self.done.fetch_add(1, Ordering::SeqCst)) {
                return Err(Error::NotFinite { precision: "f32", graph: 1 });
            }
            let found = embed_on(&Device::processor(), work, progress)?;
            Ok((found.vectors, found.runs))
        }
    }

    fn pieces(count: usize) -> Vec<Dataset> {
        let piece = |piece: usize| {
            let mut builder = BatchBuilder::default();
            for n in [4 + piece, 9 - piece, 6] {
                let (from, to): (Vec<u32>, Vec<u32>) = (0..n as u32).map(|v| (v, (v + 1) % n as u32)).unzip();
                builder.push(&EdgeList::new(n, &from[1..], &to[1..])).unwrap();
            }
            Dataset { name: "rings".into(), graphs: builder.finish(), ..Dataset::default() }
        };
        (0..count).map(piece).collect()
    }

    /// The number of graphs before a piece, and the numbers of its vectors.
    type Taken = (usize, Vec<f64>);

    /// Embeds pieces and returns what was taken, how it ended, and the number of graphs counted.
    fn embed(engine: Option<Arc<Slow>>, pieces: &[Dataset]) -> (Vec<Taken>, Result<()>, usize) {
        let terminal = Terminal::new(true, Box::new(NoChemistry));
        let mut model = Model::fit(ModelConfig::default(), &pieces[0].graphs).unwrap();
        if let Some(engine) = &engine {
            model = model.on(Device::new(engine.clone()));
        }
        let mut embedder = Embedder::new(&model, None, &terminal);
        let mut taken = Vec::new();
        let pass = |push: &mut dyn FnMut(Piece<'_>) -> Result<()>| {
            let mut before = 0;
            for piece in pieces {
                if let Some(engine) = &engine {
                    engine.pushed.fetch_add(1, Ordering::SeqCst);
                }
                push(Piece { dataset: Cow::Owned(piece.clone()), before, rows: None })?;
                before += piece.len();
            }
            Ok(())
        };
        let ended = embedder.embed_pieces(&|_| Continue(()), pass, |_, piece, found| {
            taken.push((piece.before, found?.vectors.iter().copied().collect()));
            Ok(())
        });
        (taken, ended, embedder.tally.graphs)
    }

    #[test]
    fn a_piece_is_prepared_while_another_is_embedded_and_their_order_stays() {
        let pieces = pieces(5);
        let (expected, _, graphs) = embed(None, &pieces);
        assert_eq!((expected.len(), graphs), (5, 15));
        // The first piece is not done before the second one was pushed.
        let (found, ended, graphs) = embed(Some(Arc::new(Slow { wanted: 2, ..Slow::default() })), &pieces);
        ended.unwrap();
        assert_eq!((found, graphs), (expected, 15));
    }

    #[test]
    fn an_error_names_its_graph_after_all_pieces_before_it() {
        let pieces = pieces(5);
        let (expected, _, _) = embed(None, &pieces[..2]);
        let (found, ended, _) = embed(Some(Arc::new(Slow { bad: Some(2), ..Slow::default() })), &pieces);
        assert_eq!(found, expected);
        assert!(format!("{:#}", ended.unwrap_err()).starts_with("graph '7' of rings: "));
    }

    #[test]
    fn what_was_queued_before_a_reader_fails_is_processed_but_not_after_a_writer_fails() {
        let pieces = pieces(3);
        let terminal = Terminal::new(true, Box::new(NoChemistry));
        let model = Model::fit(ModelConfig::default(), &pieces[0].graphs).unwrap();
        let model = model.on(Device::new(Arc::new(Slow::default())));
        let run = |writer_fails: bool| {
            let mut taken = 0;
            let pass = |push: &mut dyn FnMut(Piece<'_>) -> Result<()>| {
                for piece in &pieces {
                    push(Piece { dataset: Cow::Owned(piece.clone()), before: 0, rows: None })?;
                }
                bail!("the file ends here")
            };
            let mut embedder = Embedder::new(&model, None, &terminal);
            let ended = embedder.embed_pieces(&|_| Continue(()), pass, |_, _, _| {
                taken += 1;
                if writer_fails { Err(anyhow!("the disk is full")) } else { Ok(()) }
            });
            (taken, ended.unwrap_err().to_string())
        };
        assert_eq!(run(false), (3, "the file ends here".into()));
        assert_eq!(run(true), (1, "the disk is full".into()));
    }
}
