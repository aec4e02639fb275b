//! The paper's claims, our findings, and whether the claims hold.

use std::collections::BTreeMap;

use serde::Serialize;

use super::accuracies::{PoolResult, datasets, find};
use super::growth::UNITS;
use super::measurements::Experiment;
use super::times::TimeRow;
use crate::results::POOLS;
use crate::run::Known;
use crate::table::{Cell, Column, Table};

/// A claim of the paper, next to our finding.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Claim {
    /// The claim.
    pub claim: String,
    /// Our finding.
    pub found: String,
    /// Whether they agree.
    pub verdict: Verdict,
}

/// Whether a claim holds.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The claim holds.
    Holds,
    /// The claim holds for some datasets, or to a lesser degree.
    InPart,
    /// The claim does not hold.
    Fails,
}

impl Verdict {
    /// The verdict as text.
    pub fn text(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::InPart => "in part",
            Self::Fails => "does not hold",
        }
    }

    /// Decides by two conditions, the second weaker than the first.
    fn by(holds: bool, in_part: bool) -> Self {
        if holds {
            Self::Holds
        } else if in_part {
            Self::InPart
        } else {
            Self::Fails
        }
    }

    /// For a claim about all of `all` items that holds for `held` of them.
    fn of(held: usize, all: usize) -> Self {
        Self::by(held == all, 2 * held > all)
    }

    /// For a claim about most of `all` items that holds for `held` of them.
    fn generally(held: usize, all: usize) -> Self {
        Self::by(2 * held > all, 3 * held > all)
    }
}

const POOLED: [&str; 3] = ["graclus", "nmf", "ndp"];

/// Every claim that the records can decide. Uses times with the paper's sweeps if they
/// were measured, so that the comparison is fair.
pub fn claims(results: &[PoolResult], times: &[TimeRow], known: &Known) -> Vec<Claim> {
    let complete = |blocks| {
        let all = |name: &&str| POOLS.iter().all(|pool| find(results, name, pool, blocks).is_some());
        datasets(results).into_iter().filter(all).collect()
    };
    let seen = Seen { results, times, two: complete(2), three: complete(3) };
    let found = [
        (
            "With 2 blocks, models without pooling are the most accurate, except on PROTEINS, where NDP is.",
            seen.unpooled_is_best(),
        ),
        (
            "Of the poolings Graclus is generally the most accurate, NDP the runner-up.",
            seen.graclus_is_best_pooled(),
        ),
        (
            "A third block makes models without pooling a little more accurate, and pooled ones less.",
            seen.depth_helps_only_without_pooling(),
        ),
        ("Pooling saves up to almost 60 % of the time.", seen.time_saved()),
        ("Of the poolings NDP is generally the fastest, and Graclus the slowest.", seen.ndp_is_fastest()),
        (
            "NDP is more than three times as fast as no pooling on REDDIT-BINARY with 3 blocks.",
            seen.reddit("ndp", |times| Verdict::by(times > 3.0, times > 1.0)),
        ),
        (
            "Graclus is slower than no pooling on REDDIT-BINARY (its fake vertices).",
            seen.reddit("graclus", |times| Verdict::by(times < 1.0, false)),
        ),
        (
            "Pooled models give more accuracy per second than unpooled ones, NDP the most.",
            seen.most_accuracy_per_second(),
        ),
        (
            "Graphs pooled by NDP have a smaller spectral radius of the normalised adjacency, so that states converge faster.",
            smaller_rho(known),
        ),
        (
            "For the same total number of units a deep model costs less than a shallow one.",
            deep_is_cheaper(known),
        ),
        (
            "On graphs of bounded degree the cost grows linearly with the number of vertices.",
            linear_in_vertices(known),
        ),
    ];
    let claim = |(claim, found): (&str, Option<Found>)| {
        found.map(|(found, verdict)| Claim { claim: claim.to_owned(), found, verdict })
    };
    found.into_iter().filter_map(claim).collect()
}

/// Our finding about a claim, and the verdict.
type Found = (String, Verdict);

/// Formats counts: `graclus 3, nmf 1`.
fn listed(names: &[&str], counts: &[usize]) -> String {
    let words: Vec<String> =
        names.iter().zip(counts).map(|(name, count)| format!("{name} {count}")).collect();
    words.join(", ")
}

/// The position of the extreme value; among equal values the first.
fn place(values: &[f64], extreme: fn(f64, f64) -> f64) -> usize {
    let found = values.iter().copied().reduce(extreme);
    values.iter().position(|value| Some(*value) == found).unwrap_or(0)
}

struct Seen<'a> {
    results: &'a [PoolResult],
    times: &'a [TimeRow],
    /// Datasets for which all architectures with 2 blocks are finished.
    two: Vec<&'a str>,
    /// Datasets for which all architectures with 3 blocks are finished.
    three: Vec<&'a str>,
}

impl Seen<'_> {
    /// Datasets and numbers of blocks for which all architectures are finished.
    fn complete(&self) -> impl Iterator<Item = (&str, usize)> {
        self.two.iter().map(|name| (*name, 2)).chain(self.three.iter().map(|name| (*name, 3)))
    }

    fn accuracy(&self, dataset: &str, pool: &str, blocks: usize) -> f64 {
        find(self.results, dataset, pool, blocks).map_or(f64::NAN, |row| row.ours.mean)
    }

    fn best<'p>(&self, dataset: &str, pools: &[&'p str], blocks: usize) -> &'p str {
        let better = |a: &&&str, b: &&&str| {
            self.accuracy(dataset, a, blocks).total_cmp(&self.accuracy(dataset, b, blocks))
        };
        pools.iter().max_by(better).copied().expect("there are poolings to compare")
    }

    fn time(&self, dataset: &str, pool: &str, blocks: usize) -> Option<&TimeRow> {
        let is = |row: &&TimeRow| row.dataset == dataset && row.pool == pool && row.blocks == blocks;
        self.times.iter().find(is)
    }

    fn unpooled_is_best(&self) -> Option<Found> {
        let all = self.two.len();
        let best = |name: &str| self.best(name, &POOLS, 2);
        let exceptions: Vec<String> = self
            .two
            .iter()
            .filter(|name| best(name) != "none")
            .map(|name| {
                let by = self.accuracy(name, best(name), 2) - self.accuracy(name, "none", 2);
                format!("{name} ({} by {by:.2})", best(name))
            })
            .collect();
        let agrees = |name: &&&str| best(name) == if **name == "PROTEINS" { "ndp" } else { "none" };
        let held = all - exceptions.len();
        let mut found = format!("Models without pooling are the most accurate on {held} of {all} datasets");
        if !exceptions.is_empty() {
            found += &format!("; not on {}", exceptions.join(", "));
        }
        (all > 0).then(|| (found + ".", Verdict::of(self.two.iter().filter(agrees).count(), all)))
    }

    fn graclus_is_best_pooled(&self) -> Option<Found> {
        let wins = |of: usize| {
            let best: Vec<&str> = self
                .complete()
                .filter(|(_, blocks)| *blocks == of)
                .map(|(name, blocks)| self.best(name, &POOLED, blocks))
                .collect();
            POOLED.map(|pool| best.iter().filter(|best| **best == pool).count())
        };
        let is_second = |(name, blocks): &(&str, usize)| {
            let best = self.best(name, &POOLED, *blocks);
            let rest: Vec<&str> = POOLED.into_iter().filter(|pool| *pool != best).collect();
            self.best(name, &rest, *blocks) == "ndp"
        };
        let (two, three) = (wins(2), wins(3));
        let (runner_up, all) = (self.complete().filter(is_second).count(), self.complete().count());
        let verdict = match (Verdict::generally(two[0] + three[0], all), Verdict::generally(runner_up, all)) {
            (Verdict::Holds, Verdict::Holds) => Verdict::Holds,
            (Verdict::Fails, _) => Verdict::Fails,
            _ => Verdict::InPart,
        };
        let found = format!(
            "Most accurate pooling, datasets: 2 blocks {}; 3 blocks {}. NDP is the second on {runner_up} of {all}.",
            listed(&POOLED, &two),
            listed(&POOLED, &three)
        );
        (all > 0).then_some((found, verdict))
    }

    fn depth_helps_only_without_pooling(&self) -> Option<Found> {
        let both: Vec<&&str> = self.two.iter().filter(|name| self.three.contains(name)).collect();
        let helped = POOLS.map(|pool| {
            both.iter().filter(|name| self.accuracy(name, pool, 3) > self.accuracy(name, pool, 2)).count()
        });
        let worse: usize = helped[1..].iter().map(|helped| both.len() - helped).sum();
        let found = format!(
            "Datasets, of {}, on which 3 blocks are better than 2: {}.",
            both.len(),
            listed(&POOLS, &helped)
        );
        (!both.is_empty()).then(|| (found, Verdict::of(helped[0] + worse, 4 * both.len())))
    }

    fn time_saved(&self) -> Option<Found> {
        let most = |speedup: fn(&TimeRow) -> Option<f64>| {
            let saved = |row: &TimeRow| {
                let cell = format!("{} {} L={}", row.dataset, row.pool, row.blocks);
                Some((100.0 * (1.0 - 1.0 / speedup(row)?), cell))
            };
            self.times.iter().filter_map(saved).max_by(|a, b| a.0.total_cmp(&b.0))
        };
        let (plain, own) = (most(|row| row.plain_speedup), most(|row| row.speedup));
        let most = plain.as_ref().or(own.as_ref())?.0;
        let words = |(percent, cell): (f64, String)| format!("{percent:.0} % ({cell})");
        let [plain, own] = [plain, own].map(|found| found.map_or("?".into(), words));
        let found = format!("At most {plain} with the paper's sweeps, {own} with ours.");
        Some((found, Verdict::by(most >= 55.0, most >= 30.0)))
    }

    fn ndp_is_fastest(&self) -> Option<Found> {
        let (mut fastest, mut slowest) = ([0; 3], [0; 3]);
        for (name, blocks) in self.complete() {
            // Prefer the paper's sweeps; fall back to ours.
            let speedup =
                |pool| self.time(name, pool, blocks).and_then(|row| row.plain_speedup.or(row.speedup));
            let Some(speeds) = POOLED.into_iter().map(speedup).collect::<Option<Vec<f64>>>() else {
                continue;
            };
            fastest[place(&speeds, f64::max)] += 1;
            slowest[place(&speeds, f64::min)] += 1;
        }
        let all: usize = fastest.iter().sum();
        let verdict = match (Verdict::generally(fastest[2], all), Verdict::generally(slowest[0], all)) {
            (Verdict::Holds, Verdict::Holds) => Verdict::Holds,
            (Verdict::Fails, Verdict::Fails) => Verdict::Fails,
            _ => Verdict::InPart,
        };
        let found = format!(
            "Fastest, of {all} cells: {}; slowest: {}. (Here Graclus makes no fake vertices, which slow it down in the paper.)",
            listed(&POOLED, &fastest),
            listed(&POOLED, &slowest)
        );
        (all > 0).then_some((found, verdict))
    }

    fn reddit(&self, pool: &str, verdict: fn(f64) -> Verdict) -> Option<Found> {
        let row = self.time("REDDIT-BINARY", pool, 3)?;
        let [plain, own, paper] = [row.plain_speedup, row.speedup, row.paper_speedup]
            .map(|times| times.map_or("?".into(), |times| format!("{times:.2}")));
        let found = format!(
            "{pool} is {plain} times as fast with the paper's sweeps, {own} with ours; {paper} in the paper."
        );
        Some((found, verdict(row.plain_speedup.or(row.speedup)?)))
    }

    fn most_accuracy_per_second(&self) -> Option<Found> {
        let mut counts = [0; 4];
        for name in &self.two {
            let of = |pool: &&str| {
                let row = self.time(name, pool, 2)?;
                Some(self.accuracy(name, pool, 2) / row.plain_seconds.unwrap_or(row.seconds()))
            };
            let Some(values) = POOLS.iter().map(of).collect::<Option<Vec<f64>>>() else { continue };
            counts[place(&values, f64::max)] += 1;
        }
        let all: usize = counts.iter().sum();
        let pooled_is_more = 2 * (all - counts[0]) > all;
        let found = format!(
            "Most accuracy per second with 2 blocks, of {all} datasets: {}.",
            listed(&POOLS, &counts)
        );
        (all > 0).then(|| (found, Verdict::by(pooled_is_more && 2 * counts[3] > all, pooled_is_more)))
    }
}

fn smaller_rho(known: &Known) -> Option<Found> {
    // The spectral radius after the last pooling, by dataset.
    let of = |pool: &str| -> BTreeMap<&str, f64> {
        let rows = known.paper.statistics.iter().filter(|row| row.pool == pool);
        rows.filter_map(|row| Some((row.summary.dataset.as_str(), row.summary.levels.last()?.rho?))).collect()
    };
    let (ndp, graclus, nmf) = (of("ndp"), of("graclus"), of("nmf"));
    let is_smaller = |(dataset, rho): &(&&str, &f64)| {
        let mut others = [&graclus, &nmf].into_iter().filter_map(|rows| rows.get(**dataset)).peekable();
        others.peek().is_some() && others.all(|other| **rho < other - 0.05)
    };
    let held = ndp.iter().filter(is_smaller).count();
    let (lowest, rho) = ndp.iter().min_by(|a, b| a.1.total_cmp(b.1))?;
    let found = format!(
        "That radius is 1 for every undirected graph with an edge, pooled or not; a mean over graphs falls below 1 only where pooled graphs have lost all edges. The mean is smaller by more than 0.05 than with both other poolings on {held} of {} datasets; lowest {rho:.2} ({lowest}).",
        ndp.len()
    );
    Some((found, if held == 0 { Verdict::Fails } else { Verdict::generally(held, ndp.len()) }))
}

fn deep_is_cheaper(known: &Known) -> Option<Found> {
    let at = |blocks| known.paper.measured.get(&(Experiment::Blocks, blocks)).copied();
    let (one, two, four) = (at(1)?, at(2)?, at(4)?);
    let found = format!(
        "b-hard, {UNITS} units in all: 2 blocks take {:.2}, 4 blocks {:.2} of the time of one.",
        two / one,
        four / one
    );
    Some((found, Verdict::by(two < one && four < one, false)))
}

fn linear_in_vertices(known: &Known) -> Option<Found> {
    let measured = known.paper.of(Experiment::Vertices);
    let points: Vec<(f64, f64)> = measured.iter().map(|(vertices, s)| (vertices.ln(), s.ln())).collect();
    let (&(first, _), &(last, _)) = (measured.first()?, measured.last()?);
    let mean = |value: fn(&(f64, f64)) -> f64| points.iter().map(value).sum::<f64>() / points.len() as f64;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let slope = points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum::<f64>()
        / points.iter().map(|p| (p.0 - x).powi(2)).sum::<f64>();
    let found = format!("Grids of {first} to {last} vertices: seconds grow as N^{slope:.2}.");
    (points.len() > 2).then(|| (found, Verdict::by((slope - 1.0).abs() < 0.15, true)))
}

/// One row per claim.
pub(super) fn table(claims: &[Claim]) -> Table {
    let columns: [Column<Claim>; 3] = [
        ("the paper's claim", |claim| Cell::sentence(&claim.claim)),
        ("found", |claim| Cell::sentence(&claim.found)),
        ("", |claim| Cell::text(claim.verdict.text())),
    ];
    Table::of("", claims, &columns)
}
