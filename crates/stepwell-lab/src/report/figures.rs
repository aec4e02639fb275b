//! Charts of a run's records.

use super::Material;
use crate::paper;
use crate::picture::Picture;
use crate::picture::figures::{
    BarGroup, Field, Line, LinePanel, RatioRow, Spot, bars, frontier, lines, ratios,
};
use crate::picture::svg::shortened;
use crate::run::{Experiment, Known};
use crate::tables::{POOLS, TimeRow, find};

/// Characters of a dataset's name in a chart.
const NAME: usize = 60;

/// All charts there is something to draw in, with the names of their files.
pub fn figures(known: &Known) -> Vec<(String, Picture)> {
    let mut all = of_times(&Material::new(known));
    all.extend(growth(known).map(|picture| ("growth.svg".to_owned(), picture)));
    all
}

/// Charts of accuracies and times.
pub(super) fn of_times(material: &Material<'_>) -> Vec<(String, Picture)> {
    let mut all = Vec::new();
    let mut add = |name: &str, picture: Option<Picture>| all.extend(picture.map(|p| (name.to_owned(), p)));
    add("accuracy-time.svg", trade_off(material));
    add("accuracy-per-second-2.svg", per_second(material, 2));
    add("accuracy-per-second-3.svg", per_second(material, 3));
    add("time-ratios.svg", saved(material));
    all
}

fn trade_off(material: &Material<'_>) -> Option<Picture> {
    let fields: Vec<Field> = material
        .datasets
        .iter()
        .map(|name| Field { name: shortened(name, NAME), spots: spots(material, name) })
        .filter(|field| !field.spots.is_empty())
        .collect();
    let mut picture = frontier("Accuracy against time", &fields, 4);
    picture.notes.push(
        "Each point is a model. Those on the Pareto front are beaten by no other in both accuracy and time."
            .to_owned(),
    );
    (!fields.is_empty()).then_some(picture)
}

/// Our models on a dataset.
fn spots(material: &Material<'_>, dataset: &str) -> Vec<Spot> {
    let spot = |row: &TimeRow| {
        Some(Spot {
            pool: row.pool.clone(),
            blocks: row.blocks,
            seconds: row.seconds(),
            accuracy: find(&material.results, dataset, &row.pool, row.blocks)?.accuracy,
            is_papers: false,
        })
    };
    material.times.iter().filter(|row| row.dataset == dataset).filter_map(spot).collect()
}

/// Our models on a dataset, and the paper's.
pub(super) fn both(material: &Material<'_>, dataset: &str) -> Option<Picture> {
    let mut spots = spots(material, dataset);
    let blocks = material.tables();
    let papers =
        blocks.iter().flat_map(|&blocks| POOLS.map(|pool| (pool, blocks))).filter_map(|(pool, blocks)| {
            let row = paper::result(dataset, pool, blocks)?;
            Some(Spot {
                pool: pool.to_owned(),
                blocks,
                seconds: row.train_seconds? + row.test_seconds?,
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
fn per_second(material: &Material<'_>, blocks: usize) -> Option<Picture> {
    let of = |dataset: &str, blocks: usize| {
        POOLS.map(|pool| {
            let is = |row: &&TimeRow| row.dataset == dataset && row.pool == pool && row.blocks == blocks;
            material.times.iter().find(is).and_then(|row| row.accuracy_per_second)
        })
    };
    let groups: Vec<BarGroup> = material
        .datasets
        .iter()
        .map(|name| BarGroup {
            name: shortened(name, NAME),
            bars: of(name, blocks),
            behind: (blocks > 2).then(|| of(name, 2)),
        })
        .filter(|group| group.bars.iter().any(Option::is_some))
        .collect();
    let title = format!("Accuracy per second, {blocks} blocks");
    let in_front = format!("{blocks} blocks");
    (!groups.is_empty()).then(|| {
        let what = "Points of accuracy per second of training and testing";
        let mut picture = bars(&title, what, &in_front, "2 blocks", &groups);
        picture.notes.push("Each dataset has its own scale; longer is better.".to_owned());
        picture
    })
}

/// The same as the paper has it.
pub(super) fn of_paper(tables: &[usize]) -> Vec<Picture> {
    let of = |dataset: &str, blocks: usize| {
        POOLS.map(|pool| {
            let row = paper::result(dataset, pool, blocks)?;
            Some(row.accuracy? / (row.train_seconds? + row.test_seconds?))
        })
    };
    let draw = |&blocks: &usize| {
        let group = |name: &str| BarGroup {
            name: name.to_owned(),
            bars: of(name, blocks),
            behind: (blocks > 2).then(|| of(name, 2)),
        };
        let groups: Vec<BarGroup> = paper::datasets().map(group).collect();
        let title = format!("Accuracy per second in the paper, {blocks} blocks");
        let what = "Points of accuracy per second of training and testing";
        bars(&title, what, &format!("{blocks} blocks"), "2 blocks", &groups)
    };
    tables.iter().map(draw).collect()
}

/// How much faster pooled models are.
fn saved(material: &Material<'_>) -> Option<Picture> {
    let row = |row: &TimeRow| RatioRow {
        dataset: shortened(&row.dataset, NAME),
        pool: row.pool.clone(),
        blocks: row.blocks,
        ours: row.speedup,
        paper: row.paper_speedup,
    };
    let rows: Vec<RatioRow> = material.times.iter().filter(|row| row.speedup.is_some()).map(row).collect();
    (!rows.is_empty()).then(|| {
        let mut picture = ratios("Time without pooling over time with it", &rows);
        picture.notes.push(
            "To the right of 1, pooling makes a pass faster. Time that pooling itself takes, once per \
             dataset, is in the table below."
                .to_owned(),
        );
        picture
    })
}

/// How the cost grows with the number of vertices, and with that of blocks.
pub(super) fn growth(known: &Known) -> Option<Picture> {
    let points = |experiment| -> Vec<(f64, f64)> {
        known
            .measured
            .range((experiment, 0)..=(experiment, usize::MAX))
            .map(|(&(_, at), &seconds)| (at as f64, seconds))
            .collect()
    };
    let panel = |heading: &str, x_label: &str, x_is_log, experiment| LinePanel {
        heading: heading.to_owned(),
        x_label: x_label.to_owned(),
        x_is_log,
        y_label: "seconds".to_owned(),
        lines: vec![Line { name: "measured".to_owned(), points: points(experiment) }],
    };
    let blocks = format!("b-hard, {} units in all", crate::experiments::UNITS);
    let mut panels = vec![
        panel("square grids", "vertices", true, Experiment::Vertices),
        panel(&blocks, "blocks that share them", false, Experiment::Blocks),
    ];
    panels.retain(|panel| panel.lines.iter().any(|line| !line.points.is_empty()));
    (!panels.is_empty()).then(|| lines("How the cost grows", &panels))
}
