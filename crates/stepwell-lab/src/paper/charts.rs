//! Charts of a run's records.

use super::accuracies::find;
use super::measurements::Experiment;
use super::page::PaperRun;
use super::printed;
use super::times::TimeRow;
use crate::picture::Picture;
use crate::picture::figures::{
    BarGroup, Field, Line, LinePanel, RatioRow, Spot, bars, frontier, lines, ratios,
};
use crate::picture::svg::shortened;
use crate::results::POOLS;
use crate::run::Known;

/// Maximum length of a dataset's name in a chart, in characters.
const NAME: usize = 60;

/// All charts with something to draw, by file name.
pub fn charts(known: &Known) -> Vec<(String, Picture)> {
    let mut all = of_times(&PaperRun::new(known));
    all.extend(growth(known).map(|picture| ("growth.svg".to_owned(), picture)));
    all
}

/// Charts of accuracies and times.
pub(super) fn of_times(run: &PaperRun<'_>) -> Vec<(String, Picture)> {
    let mut all = Vec::new();
    let mut add = |name: &str, picture: Option<Picture>| all.extend(picture.map(|p| (name.to_owned(), p)));
    add("accuracy-time.svg", trade_off(run));
    add("accuracy-per-second-2.svg", per_second(run, 2));
    add("accuracy-per-second-3.svg", per_second(run, 3));
    add("time-ratios.svg", saved(run));
    all
}

fn trade_off(run: &PaperRun<'_>) -> Option<Picture> {
    let fields: Vec<Field> = run
        .datasets
        .iter()
        .map(|name| Field { name: shortened(name, NAME), spots: spots(run, name) })
        .filter(|field| !field.spots.is_empty())
        .collect();
    let mut picture = frontier("Accuracy against time", &fields, 4);
    picture.notes.push(
        "Each point is a model. No other model beats those on the Pareto front in both accuracy and time."
            .to_owned(),
    );
    (!fields.is_empty()).then_some(picture)
}

/// Our models on a dataset.
fn spots(run: &PaperRun<'_>, dataset: &str) -> Vec<Spot> {
    let spot = |row: &TimeRow| {
        Some(Spot {
            pool: row.pool.clone(),
            blocks: row.blocks,
            seconds: row.seconds(),
            accuracy: find(&run.results, dataset, &row.pool, row.blocks)?.ours.mean,
            is_papers: false,
        })
    };
    run.times.iter().filter(|row| row.dataset == dataset).filter_map(spot).collect()
}

/// Our models and the paper's on a dataset.
pub(super) fn both(run: &PaperRun<'_>, dataset: &str) -> Option<Picture> {
    let mut spots = spots(run, dataset);
    let blocks = run.tables();
    let papers =
        blocks.iter().flat_map(|&blocks| POOLS.map(|pool| (pool, blocks))).filter_map(|(pool, blocks)| {
            let row = printed::result(dataset, pool, blocks)?;
            Some(Spot {
                pool: pool.to_owned(),
                blocks,
                seconds: row.seconds()?,
                accuracy: row.accuracy?,
                is_papers: true,
            })
        });
    spots.extend(papers);
    (spots.len() > 1 && spots.iter().any(|spot| !spot.is_papers)).then(|| {
        let name = shortened(dataset, NAME);
        let title = format!("{name}: accuracy against time");
        frontier(&title, &[Field { name, spots }], 1)
    })
}

/// Points of accuracy per second (paper §6.3).
fn per_second(run: &PaperRun<'_>, blocks: usize) -> Option<Picture> {
    let of = |dataset: &str, pool: &str, blocks: usize| {
        let is = |row: &&TimeRow| row.dataset == dataset && row.pool == pool && row.blocks == blocks;
        run.times.iter().find(is).and_then(|row| row.accuracy_per_second)
    };
    let datasets = run.datasets.iter().map(String::as_str);
    let title = format!("Accuracy per second, {blocks} blocks");
    let mut picture = per_second_bars(&title, datasets, blocks, of)?;
    picture.notes.push("Each dataset has its own scale; longer is better.".to_owned());
    Some(picture)
}

/// The same chart with the paper's own figures.
pub(super) fn of_paper(tables: &[usize]) -> Vec<Picture> {
    let of =
        |dataset: &str, pool: &str, blocks| printed::result(dataset, pool, blocks)?.accuracy_per_second();
    let draw = |&blocks: &usize| {
        let title = format!("Accuracy per second in the paper, {blocks} blocks");
        per_second_bars(&title, printed::datasets(), blocks, of)
    };
    tables.iter().filter_map(draw).collect()
}

/// A group of bars for each dataset. Behind the bars of three blocks stand those of two.
fn per_second_bars<'d>(
    title: &str,
    datasets: impl Iterator<Item = &'d str>,
    blocks: usize,
    of: impl Fn(&str, &str, usize) -> Option<f64>,
) -> Option<Picture> {
    let bars_of = |name: &str, blocks| POOLS.map(|pool| of(name, pool, blocks));
    let groups: Vec<BarGroup> = datasets
        .map(|name| BarGroup {
            name: shortened(name, NAME),
            bars: bars_of(name, blocks),
            behind: (blocks > 2).then(|| bars_of(name, 2)),
        })
        .filter(|group| group.bars.iter().any(Option::is_some))
        .collect();
    let what = "Points of accuracy per second of training and testing";
    (!groups.is_empty()).then(|| bars(title, what, &format!("{blocks} blocks"), "2 blocks", &groups))
}

/// The speed-up of pooled models.
fn saved(run: &PaperRun<'_>) -> Option<Picture> {
    let row = |row: &TimeRow| RatioRow {
        dataset: shortened(&row.dataset, NAME),
        pool: row.pool.clone(),
        blocks: row.blocks,
        ours: row.speedup,
        paper: row.paper_speedup,
    };
    let rows: Vec<RatioRow> = run.times.iter().filter(|row| row.speedup.is_some()).map(row).collect();
    (!rows.is_empty()).then(|| {
        let mut picture = ratios("Time without pooling over time with it", &rows);
        picture.notes.push(
            "To the right of 1, pooling makes a pass faster. The table below shows the time of \
             pooling itself, once per dataset."
                .to_owned(),
        );
        picture
    })
}

/// Cost against the number of vertices, and against the number of blocks.
pub(super) fn growth(known: &Known) -> Option<Picture> {
    let panel = |heading: &str, x_label: &str, x_is_log, experiment| LinePanel {
        heading: heading.to_owned(),
        x_label: x_label.to_owned(),
        x_is_log,
        y_label: "seconds".to_owned(),
        lines: vec![Line { name: "measured".to_owned(), points: known.paper.of(experiment) }],
    };
    let blocks = format!("b-hard, {} units in all", super::growth::UNITS);
    let mut panels = vec![
        panel("square grids", "vertices", true, Experiment::Vertices),
        panel(&blocks, "blocks that share them", false, Experiment::Blocks),
    ];
    panels.retain(|panel| panel.lines.iter().any(|line| !line.points.is_empty()));
    (!panels.is_empty()).then(|| lines("How the cost grows", &panels))
}
