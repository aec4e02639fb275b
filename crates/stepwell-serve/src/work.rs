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
use stepwell_lab::picture::Subject;
use stepwell_lab::picture::explanation::{Explained, Shares};

use crate::answer::{Answer, Said, Writer};
use crate::http::Shared;
use crate::query::{Ask, Endpoint};
use crate::queue::Job;
use crate::rows::{Found, Piece, Rows};
use crate::{Limits, Refusal};

/// Processes the queue until it is closed and empty.
pub(crate) fn work(shared: &Shared, pool: &ThreadPool) {
    while let Some(batch) = shared.queue.take() {
        let jobs: Vec<Job> = batch.jobs.into_iter().filter(|job| !job.is_abandoned()).collect();
        if !jobs.is_empty() {
            shared.metrics.batches.fetch_add(1, Ordering::Relaxed);
            shared.metrics.batched.fetch_add(jobs.len() as u64, Ordering::Relaxed);
            jobs.iter().for_each(Job::start);
            answer(jobs, shared, pool);
        }
        shared.queue.done(batch.large);
    }
}

/// Answers requests, together if possible.
fn answer(jobs: Vec<Job>, shared: &Shared, pool: &ThreadPool) {
    let limits = shared.limits;
    if jobs.len() == 1 || jobs[0].ask.endpoint == Endpoint::Explain {
        for job in jobs {
            let answer = guarded(shared, || alone(&job, read(&job, limits)?, pool));
            job.reply(answer);
        }
        return;
    }
    let mut together: Vec<(Job, Box<Piece>)> = Vec::new();
    for job in jobs {
        let found = guarded(shared, || read(&job, limits)?.collect::<Result<Vec<Found>, Refusal>>());
        match found {
            Err(refusal) => job.reply(Err(refusal)),
            Ok(found) => match <[Found; 1]>::try_from(found) {
                Ok([Found::Piece(mut piece)]) => {
                    note_unknown(&job.ask, &mut piece);
                    together.push((job, piece));
                }
                Ok([bad]) => {
                    let answer = guarded(shared, || alone(&job, [Ok(bad)], pool));
                    job.reply(answer);
                }
                Err(found) => {
                    let answer = guarded(shared, || alone(&job, found.into_iter().map(Ok), pool));
                    job.reply(answer);
                }
            },
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
            Err(_) => alone(&job, [Ok(Found::Piece(piece.clone()))], pool),
        });
        first += piece.rows.len();
        job.reply(answer);
    }
}

fn read(job: &Job, limits: Limits) -> Result<Rows, Refusal> {
    Rows::new(&job.ask, job.body.clone(), limits)
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
fn alone(
    job: &Job,
    found: impl IntoIterator<Item = Result<Found, Refusal>>,
    pool: &ThreadPool,
) -> Result<Answer, Refusal> {
    let ask = &job.ask;
    let going = || if job.is_abandoned() { Break(()) } else { Continue(()) };
    let mut writer = Writer::new(ask)?;
    for found in found {
        match found? {
            Found::Bad(row, reason) => writer.bad(row, row.to_string(), reason),
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
        Some(id) => Refusal::bad(format!("graph '{}': {error}", id.escape_debug())),
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
    let bad = bad.into_iter().map(|(graph, error)| (graph, error.to_string())).collect();
    Ok((read_out(ask, embedding)?, bad))
}

/// Predictions, or the vectors themselves.
fn read_out(ask: &Ask, embedding: Embedding) -> Result<Said, Refusal> {
    match ask.endpoint {
        Endpoint::Embed => Ok(Said::Vectors(embedding.vectors)),
        _ => {
            let predictions = ask.entry.trained()?.read(embedding).map_err(refused)?;
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
    pool.install(|| read_out(ask, ask.entry.model().embed(&graphs, going).map_err(refused)?))
}

fn explained(
    ask: &Ask,
    Piece { graphs, ids, .. }: &Piece,
    going: impl Fn() -> ControlFlow<()> + Sync,
) -> Result<Said, Refusal> {
    #[derive(Serialize)]
    struct Line<'a> {
        id: &'a str,
        #[serde(flatten)]
        explained: Explained<'a>,
    }
    let trained = ask.entry.trained()?;
    let pyramid = trained.model.coarsen(graphs, |_| going()).map_err(refused)?;
    let explanations = trained.explain(graphs, &pyramid, |_| going()).map_err(refused)?;
    let predicted = trained.predict(graphs, |_| going()).map_err(refused)?.classes;
    let names = trained.classes.names();
    let name = |class: usize| names.get(class).map(String::as_str);
    let line = |(index, explanation): (usize, &stepwell::model::Explanation)| {
        let id: &str = &ids[index];
        let prediction = predicted.get(index).copied();
        let column = ask.class.or(prediction).unwrap_or(0);
        let subject = Subject {
            name: id,
            graph: graphs.graph(index),
            coordinates: None,
            molecules: trained.model.molecules.as_deref(),
            pyramid: &pyramid,
            index,
        };
        let wrong = |error: &dyn std::fmt::Display| Refusal::bad(error.to_string());
        let shares = Shares::of(&subject, explanation, column).map_err(|error| wrong(&error))?;
        let several = trained.readout.task().num_targets() > 1;
        let target = several.then(|| trained.target(column));
        let explained =
            Explained { target, ..Explained::new(&shares, name(column), prediction.and_then(name)) };
        serde_json::to_vec(&Line { id, explained }).map_err(|error| wrong(&error))
    };
    explanations.iter().enumerate().map(line).collect::<Result<_, Refusal>>().map(Said::Explanations)
}

/// Adds notes about labels and edge data of a piece that the model does not know.
fn note_unknown(ask: &Ask, piece: &mut Piece) {
    let features = &ask.entry.model().features;
    let counts = [
        (features.unknown_labels(&piece.graphs), "vertices"),
        (features.edges().unknown_labels(&piece.graphs), "edges"),
    ];
    for (count, of) in counts {
        if count > 0 {
            piece.notes.push(format!("{count} {of} have a label the model was not trained on"));
        }
    }
    if let Some(carried) = features.ignored_of_edges(&piece.graphs) {
        piece.notes.push(format!("edges carry {carried}, which the model ignores"));
    }
}

fn refused(error: stepwell::Error) -> Refusal {
    Refusal::bad(error.to_string())
}
