//! Computes responses to requests.

use std::ops::ControlFlow::{self, Break, Continue};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;

use hyper::StatusCode;
use rayon::ThreadPool;
use serde::Serialize;
use serde_json::json;
use stepwell::graph::GraphBatch;
use stepwell::reservoir::Embedding;
use stepwell_data::{counted, quote};
use stepwell_lab::picture::Subject;
use stepwell_lab::picture::explanation::{Explained, Shares};

use crate::answer::{Answer, Said, Writer};
use crate::http::Shared;
use crate::query::{Ask, Endpoint};
use crate::queue::{Job, LARGE_VERTICES};
use crate::rows::{Bad, Found, Id, Piece, Rows};
use crate::{Limits, Refusal};

/// The threads that compute. A thread of a pool that waits for a part of its own work may take up
/// work of another request, so large requests would delay small ones in the same pool.
pub(crate) struct Pools {
    pub large: ThreadPool,
    pub small: ThreadPool,
}

/// Processes the queue until it is closed and empty.
pub(crate) fn work(shared: &Shared, pools: &Pools) {
    while let Some(batch) = shared.queue.take() {
        let jobs: Vec<Job> = batch.jobs.into_iter().filter(|job| !job.is_abandoned()).collect();
        if !jobs.is_empty() {
            shared.metrics.batches.fetch_add(1, Ordering::Relaxed);
            shared.metrics.batched.fetch_add(jobs.len() as u64, Ordering::Relaxed);
            jobs.iter().for_each(Job::start);
            answer(jobs, batch.large, shared, pools);
        }
        shared.queue.done(batch.large);
    }
}

/// Answers requests, together if possible.
fn answer(jobs: Vec<Job>, large: bool, shared: &Shared, pools: &Pools) {
    let pool = if large { &pools.large } else { &pools.small };
    let single = jobs.len() == 1;
    let mut together: Vec<(Job, Box<Piece>)> = Vec::new();
    for job in jobs {
        // Nothing is computed before the whole request is found to be valid.
        let mut found = match guarded(shared, || read(&job, shared.limits)) {
            Ok(found) => found,
            Err(refusal) => {
                job.reply(Err(refusal));
                continue;
            }
        };
        if !large && found.iter().map(Found::vertices).sum::<usize>() > LARGE_VERTICES {
            shared.queue.push_as_large(job);
            continue;
        }
        let joins = !single && job.ask.endpoint != Endpoint::Explain;
        match found.pop() {
            Some(Found::Piece(mut piece)) if joins && found.is_empty() => {
                note_unknown(&job.ask, &mut piece);
                together.push((job, piece));
            }
            last => {
                found.extend(last);
                let answer = guarded(shared, || alone(&job, found, pool));
                job.reply(answer);
            }
        }
    }
    let said = guarded(shared, || joint(&together, pool));
    let mut first = 0;
    for (job, piece) in together {
        let answer = guarded(shared, || match &said {
            Ok(said) => {
                let mut writer = Writer::new(&job.ask)?;
                let part = said.part(first, piece.rows.len());
                writer.piece(&piece, &part)?;
                writer.finish()
            }
            // One of them caused the error; processing each alone shows which.
            Err(_) => alone(&job, vec![Found::Piece(piece.clone())], pool),
        });
        first += piece.rows.len();
        job.reply(answer);
    }
}

/// All graphs of a request.
fn read(job: &Job, limits: Limits) -> Result<Vec<Found>, Refusal> {
    let mut all = Vec::new();
    for found in Rows::new(&job.ask, job.body.clone(), limits)? {
        all.push(found?);
        if job.is_abandoned() {
            return Err(Refusal::busy("nobody waits for the response"));
        }
    }
    Ok(all)
}

/// Runs `work` and turns a panic into an error, so that the request is answered and the
/// service continues.
fn guarded<T>(shared: &Shared, work: impl FnOnce() -> Result<T, Refusal>) -> Result<T, Refusal> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let words = panic.downcast_ref::<String>().cloned();
        let words = words.or_else(|| panic.downcast_ref::<&str>().map(|words| (*words).to_owned()));
        let reason = "internal error; this is a bug in Stepwell, not in the request";
        shared.log.error("panic", json!({ "reason": words.unwrap_or_default() }));
        Err(Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, reason))
    })
}

/// Answers one request.
fn alone(job: &Job, found: Vec<Found>, pool: &ThreadPool) -> Result<Answer, Refusal> {
    let ask = &job.ask;
    let going = || if job.is_abandoned() { Break(()) } else { Continue(()) };
    let mut writer = Writer::new(ask)?;
    for found in found {
        match found {
            Found::Bad(Bad { row, id, reason }) => writer.bad(row, id, reason),
            Found::Piece(mut piece) => {
                note_unknown(ask, &mut piece);
                let (said, bad) = pool.install(|| said(ask, &piece, going))?;
                for (graph, reason) in bad.iter().rev() {
                    let id = piece.ids.remove(*graph);
                    writer.bad(piece.rows.remove(*graph), id, reason.clone());
                }
                writer.piece(&piece, &said)?;
            }
        }
    }
    writer.finish()
}

/// Computes a model's output for a piece, and finds the graphs it cannot process.
fn said(
    ask: &Ask,
    piece: &Piece,
    going: impl Fn() -> ControlFlow<()> + Sync,
) -> Result<(Said, Vec<(usize, String)>), Refusal> {
    let named = |error: stepwell::Error| match error.graph().and_then(|graph| piece.ids.get(graph)) {
        Some(id) => Refusal::bad(format!("graph {}: {error}", quote(id.text().as_bytes()))),
        None => refused(error),
    };
    if ask.endpoint == Endpoint::Explain {
        return explained(ask, piece, going).map(|said| (said, Vec::new()));
    }
    let model = ask.entry.model();
    let (embedding, bad) = if ask.skip_bad {
        model.embed_possible(&piece.graphs, |_| going()).map_err(named)?
    } else {
        (model.embed(&piece.graphs, |_| going()).map_err(named)?, Vec::new())
    };
    let bad: Vec<(usize, String)> =
        bad.into_iter().map(|(graph, error)| (graph, error.to_string())).collect();
    let empty = piece.graphs.iter().enumerate().filter(|(graph, _)| bad.iter().all(|(at, _)| at != graph));
    let empty: Vec<bool> = empty.map(|(_, graph)| graph.num_vertices() == 0).collect();
    Ok((read_out(ask, embedding, &empty)?, bad))
}

/// Predictions, or the vectors themselves. `empty` marks graphs without vertices, which have no
/// prediction.
fn read_out(ask: &Ask, embedding: Embedding, empty: &[bool]) -> Result<Said, Refusal> {
    match ask.endpoint {
        Endpoint::Embed => Ok(Said::Vectors(embedding.vectors)),
        _ => {
            let mut predictions = ask.entry.trained()?.read(embedding).map_err(refused)?;
            predictions.blank(empty);
            Ok(Said::Predictions(Box::new(predictions)))
        }
    }
}

/// Computes a model's output for the pieces of several requests.
fn joint(together: &[(Job, Box<Piece>)], pool: &ThreadPool) -> Result<Said, Refusal> {
    let Some((Job { ask, .. }, _)) = together.first() else { return Ok(Said::Explanations(Vec::new())) };
    let mut graphs = GraphBatch::default();
    for (_, piece) in together {
        graphs.append(&piece.graphs).map_err(refused)?;
    }
    let abandoned = || together.iter().all(|(job, _)| job.is_abandoned());
    let going = |_| if abandoned() { Break(()) } else { Continue(()) };
    let empty: Vec<bool> = graphs.iter().map(|graph| graph.num_vertices() == 0).collect();
    pool.install(|| read_out(ask, ask.entry.model().embed(&graphs, going).map_err(refused)?, &empty))
}

fn explained(
    ask: &Ask,
    Piece { graphs, ids, .. }: &Piece,
    going: impl Fn() -> ControlFlow<()> + Sync,
) -> Result<Said, Refusal> {
    #[derive(Serialize)]
    struct Line<'a> {
        id: &'a Id,
        #[serde(flatten)]
        explained: Explained,
    }
    let trained = ask.entry.trained()?;
    let pyramid = trained.model.coarsen(graphs, |_| going()).map_err(refused)?;
    let explanations = trained.explain(graphs, &pyramid, |_| going()).map_err(refused)?;
    let predicted = trained.predict(graphs, |_| going()).map_err(refused)?.classes;
    let line = |(index, explanation): (usize, &stepwell::model::Explanation)| {
        let id = &ids[index];
        let prediction = predicted.get(index).copied();
        let column = ask.class.unwrap_or_else(|| trained.column_to_explain(prediction));
        let subject = Subject {
            name: id.text(),
            graph: graphs.graph(index),
            coordinates: None,
            molecules: trained.model.molecules.as_deref(),
            pyramid: &pyramid,
            index,
        };
        let wrong = |error: &dyn std::fmt::Display| Refusal::bad(error.to_string());
        let shares = Shares::of(&subject, explanation, column).map_err(|error| wrong(&error))?;
        let explained = Explained::new(trained, &shares, column, prediction);
        serde_json::to_vec(&Line { id, explained }).map_err(|error| wrong(&error))
    };
    explanations.iter().enumerate().map(line).collect::<Result<_, Refusal>>().map(Said::Explanations)
}

/// Adds notes about labels and edge data of a piece that the model does not know.
fn note_unknown(ask: &Ask, piece: &mut Piece) {
    let features = &ask.entry.model().features;
    let counts = [
        (features.unknown_labels(&piece.graphs), "vertex"),
        (features.edges().unknown_labels(&piece.graphs), "edge"),
    ];
    for (count, of) in counts {
        if count > 0 {
            let have = if count == 1 { "has" } else { "have" };
            piece.notes.push(format!("{} {have} a label the model was not trained on", counted(count, of)));
        }
    }
    if let Some(carried) = features.ignored_of_edges(&piece.graphs) {
        piece.notes.push(format!("edges carry {carried}, which the model ignores"));
    }
}

fn refused(error: stepwell::Error) -> Refusal {
    Refusal::bad(error.to_string())
}
