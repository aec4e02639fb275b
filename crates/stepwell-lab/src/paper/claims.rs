//! What the paper claims, what we found, and whether it holds.

use serde::Serialize;

use super::accuracies::{PoolResult, datasets, find};
use super::measurements::Experiment;
use super::times::TimeRow;
use crate::results::POOLS;
use crate::run::Known;
use crate::table::{Cell, Table};

/// A claim of the paper beside what was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Claim {
    /// What the paper says.
    pub claim: String,
    /// What we found.
    pub found: String,
    /// Whether that agrees.
    pub verdict: Verdict,
}

/// Whether a claim holds.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// As claimed.
    Holds,
    /// For some of the datasets, or by less.
    InPart,
    /// It does not.
    Fails,
}

impl Verdict {
    /// In words.
    pub fn text(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::InPart => "in part",
            Self::Fails => "does not hold",
        }
    }

    /// For something that is said of all, and found of so many.
    fn of(held: usize, all: usize) -> Self {
        match (held, all) {
            (held, all) if held == all => Self::Holds,
            (held, all) if 2 * held > all => Self::InPart,
            _ => Self::Fails,
        }
    }

    /// For something that is said of most, and found of so many.
    fn generally(held: usize, all: usize) -> Self {
        match (held, all) {
            (held, all) if 2 * held > all => Self::Holds,
            (held, all) if 3 * held > all => Self::InPart,
            _ => Self::Fails,
        }
    }
}

const POOLED: [&str; 3] = ["graclus", "nmf", "ndp"];

/// Every claim something is known about. Times are those with the paper's
/// sweeps where they were taken, so that like is compared with like.
pub fn claims(results: &[PoolResult], times: &[TimeRow], known: &Known) -> Vec<Claim> {
    let seen = Seen { results, times, datasets: complete(results) };
    [
        seen.unpooled_is_best(),
        seen.graclus_is_best_pooled(),
        seen.depth_helps_only_without_pooling(),
        seen.time_saved(),
        seen.ndp_is_fastest(),
        seen.reddit(
            "ndp",
            "NDP is more than three times as fast as no pooling on REDDIT-BINARY with 3 blocks.",
            |times| {
                if times > 3.0 {
                    Verdict::Holds
                } else if times > 1.0 {
                    Verdict::InPart
                } else {
                    Verdict::Fails
                }
            },
        ),
        seen.reddit(
            "graclus",
            "Graclus is slower than no pooling on REDDIT-BINARY (its fake vertices).",
            |times| {
                if times < 1.0 { Verdict::Holds } else { Verdict::Fails }
            },
        ),
        seen.most_accuracy_per_second(),
        smaller_rho(known),
        deep_is_cheaper(known),
        linear_in_vertices(known),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Datasets on which all architectures are finished, for 2 and for 3 blocks.
fn complete(results: &[PoolResult]) -> [Vec<String>; 2] {
    [2, 3].map(|blocks| {
        let all = |name: &&str| POOLS.iter().all(|pool| find(results, name, pool, blocks).is_some());
        datasets(results).into_iter().filter(all).map(str::to_owned).collect()
    })
}

struct Seen<'a> {
    results: &'a [PoolResult],
    times: &'a [TimeRow],
    datasets: [Vec<String>; 2],
}

impl Seen<'_> {
    fn accuracy(&self, dataset: &str, pool: &str, blocks: usize) -> f64 {
        find(self.results, dataset, pool, blocks).map_or(f64::NAN, |row| row.ours.accuracy)
    }

    fn best<'p>(&self, dataset: &str, pools: &[&'p str], blocks: usize) -> &'p str {
        let better = |a: &&&str, b: &&&str| {
            self.accuracy(dataset, a, blocks).total_cmp(&self.accuracy(dataset, b, blocks))
        };
        pools.iter().max_by(better).copied().expect("there are poolings to compare")
    }

    fn unpooled_is_best(&self) -> Option<Claim> {
        let [two, _] = &self.datasets;
        let exceptions: Vec<String> = two
            .iter()
            .filter(|name| self.best(name, &POOLS, 2) != "none")
            .map(|name| {
                let best = self.best(name, &POOLS, 2);
                let by = self.accuracy(name, best, 2) - self.accuracy(name, "none", 2);
                format!("{name} ({best} by {by:.2})")
            })
            .collect();
        let held = two.len() - exceptions.len();
        let agrees =
            |name: &str| self.best(name, &POOLS, 2) == if name == "PROTEINS" { "ndp" } else { "none" };
        let but =
            if exceptions.is_empty() { String::new() } else { format!("; not on {}", exceptions.join(", ")) };
        (!two.is_empty()).then(|| Claim {
            claim: "With 2 blocks no pooling is the most accurate, but for PROTEINS, where NDP is.".into(),
            found: format!("No pooling is the most accurate on {held} of {} datasets{but}.", two.len()),
            verdict: Verdict::of(two.iter().filter(|name| agrees(name)).count(), two.len()),
        })
    }

    fn graclus_is_best_pooled(&self) -> Option<Claim> {
        let count = |blocks: usize| {
            let names = &self.datasets[blocks - 2];
            POOLED.map(|pool| names.iter().filter(|name| self.best(name, &POOLED, blocks) == pool).count())
        };
        let (two, three) = (count(2), count(3));
        let second = |blocks: usize| {
            let names = &self.datasets[blocks - 2];
            let is_second = |name: &&String| {
                let best = self.best(name, &POOLED, blocks);
                let rest: Vec<&str> = POOLED.into_iter().filter(|pool| *pool != best).collect();
                self.best(name, &rest, blocks) == "ndp"
            };
            names.iter().filter(is_second).count()
        };
        let runner_up = second(2) + second(3);
        let all = self.datasets[0].len() + self.datasets[1].len();
        let words = |counts: [usize; 3]| {
            POOLED
                .iter()
                .zip(counts)
                .map(|(pool, count)| format!("{pool} {count}"))
                .collect::<Vec<_>>()
                .join(", ")
        };
        (all > 0).then(|| Claim {
            claim: "Of the poolings Graclus is generally the most accurate, NDP the runner-up.".into(),
            found: format!(
                "Most accurate pooling, datasets: 2 blocks {}; 3 blocks {}. NDP is the second on {runner_up} of {all}.",
                words(two),
                words(three)
            ),
            verdict: match (Verdict::generally(two[0] + three[0], all), Verdict::generally(runner_up, all)) {
                (Verdict::Holds, Verdict::Holds) => Verdict::Holds,
                (Verdict::Fails, _) => Verdict::Fails,
                _ => Verdict::InPart,
            },
        })
    }

    fn depth_helps_only_without_pooling(&self) -> Option<Claim> {
        let both: Vec<&String> =
            self.datasets[0].iter().filter(|name| self.datasets[1].contains(name)).collect();
        let helped = |pool: &str| {
            both.iter().filter(|name| self.accuracy(name, pool, 3) > self.accuracy(name, pool, 2)).count()
        };
        let counts: Vec<String> = POOLS.iter().map(|pool| format!("{pool} {}", helped(pool))).collect();
        let worse: usize = POOLED.iter().map(|pool| both.len() - helped(pool)).sum();
        let agreeing = helped("none") + worse;
        (!both.is_empty()).then(|| Claim {
            claim: "A third block makes models without pooling a little more accurate, and pooled ones less."
                .into(),
            found: format!(
                "Datasets, of {}, on which 3 blocks are better than 2: {}.",
                both.len(),
                counts.join(", ")
            ),
            verdict: Verdict::of(agreeing, 4 * both.len()),
        })
    }

    fn time(&self, dataset: &str, pool: &str, blocks: usize) -> Option<&TimeRow> {
        let is = |row: &&TimeRow| row.dataset == dataset && row.pool == pool && row.blocks == blocks;
        self.times.iter().find(is)
    }

    /// How many times as fast a pooling is as none: with the paper's sweeps if known, or else ours.
    fn speedup(&self, dataset: &str, pool: &str, blocks: usize) -> Option<f64> {
        self.time(dataset, pool, blocks).and_then(|row| row.plain_speedup.or(row.speedup))
    }

    fn time_saved(&self) -> Option<Claim> {
        let most = |own: bool| {
            let saved = |row: &TimeRow| {
                let speedup = if own { row.speedup } else { row.plain_speedup }?;
                Some((
                    100.0 * (1.0 - 1.0 / speedup),
                    format!("{} {} L={}", row.dataset, row.pool, row.blocks),
                ))
            };
            self.times.iter().filter_map(saved).max_by(|a, b| a.0.total_cmp(&b.0))
        };
        let (plain, own) = (most(false), most(true));
        let most = plain.as_ref().or(own.as_ref())?.0;
        let words = |(percent, cell): (f64, String)| format!("{percent:.0} % ({cell})");
        Some(Claim {
            claim: "Pooling saves up to almost 60 % of the time.".into(),
            found: format!(
                "At most {} with the paper's sweeps, {} with ours.",
                plain.map_or("?".into(), words),
                own.map_or("?".into(), words)
            ),
            verdict: if most >= 55.0 {
                Verdict::Holds
            } else if most >= 30.0 {
                Verdict::InPart
            } else {
                Verdict::Fails
            },
        })
    }

    fn ndp_is_fastest(&self) -> Option<Claim> {
        let (mut counts, mut slowest) = ([0; 3], [0; 3]);
        for (index, names) in self.datasets.iter().enumerate() {
            for name in names {
                let times = POOLED.map(|pool| self.speedup(name, pool, index + 2));
                let [Some(graclus), Some(nmf), Some(ndp)] = times else { continue };
                let all = [graclus, nmf, ndp];
                let best = all.iter().copied().fold(f64::MIN, f64::max);
                let worst = all.iter().copied().fold(f64::MAX, f64::min);
                for (counts, extreme) in [(&mut counts, best), (&mut slowest, worst)] {
                    if let Some(place) = all.iter().position(|speed| *speed == extreme) {
                        counts[place] += 1;
                    }
                }
            }
        }
        let all: usize = counts.iter().sum();
        (all > 0).then(|| Claim {
            claim: "Of the poolings NDP is generally the fastest, and Graclus the slowest.".into(),
            found: format!(
                "Fastest, of {all} cells: graclus {}, nmf {}, ndp {}; slowest: graclus {}, nmf {}, ndp {}. (Graclus makes no fake vertices here, which is what slows it down in the paper.)",
                counts[0], counts[1], counts[2], slowest[0], slowest[1], slowest[2]
            ),
            verdict: match (Verdict::generally(counts[2], all), Verdict::generally(slowest[0], all)) {
                (Verdict::Holds, Verdict::Holds) => Verdict::Holds,
                (Verdict::Fails, Verdict::Fails) => Verdict::Fails,
                _ => Verdict::InPart,
            },
        })
    }

    fn reddit(&self, pool: &str, claim: &str, verdict: fn(f64) -> Verdict) -> Option<Claim> {
        let row = self.time("REDDIT-BINARY", pool, 3)?;
        let judged = row.plain_speedup.or(row.speedup)?;
        let text = |times: Option<f64>| times.map_or("?".into(), |times| format!("{times:.2}"));
        Some(Claim {
            claim: claim.into(),
            found: format!(
                "{pool} is {} times as fast with the paper's sweeps, {} with ours; {} in the paper.",
                text(row.plain_speedup),
                text(row.speedup),
                text(row.paper_speedup)
            ),
            verdict: verdict(judged),
        })
    }

    fn most_accuracy_per_second(&self) -> Option<Claim> {
        let mut counts = [0; 4];
        for name in &self.datasets[0] {
            let of = |pool: &&str| {
                let row = self.time(name, pool, 2)?;
                let seconds = row.plain_seconds.unwrap_or(row.seconds());
                Some(self.accuracy(name, pool, 2) / seconds)
            };
            let Some(values) = POOLS.iter().map(of).collect::<Option<Vec<f64>>>() else { continue };
            let best = values.iter().copied().fold(f64::MIN, f64::max);
            if let Some(place) = values.iter().position(|value| *value == best) {
                counts[place] += 1;
            }
        }
        let all: usize = counts.iter().sum();
        (all > 0).then(|| Claim {
            claim: "Pooled models give more accuracy per second than unpooled ones, NDP the most.".into(),
            found: format!(
                "Most accuracy per second with 2 blocks, of {all} datasets: none {}, graclus {}, nmf {}, ndp {}.",
                counts[0], counts[1], counts[2], counts[3]
            ),
            verdict: match (all - counts[0], counts[3]) {
                (pooled, ndp) if 2 * pooled > all && 2 * ndp > all => Verdict::Holds,
                (pooled, _) if 2 * pooled > all => Verdict::InPart,
                _ => Verdict::Fails,
            },
        })
    }
}

fn smaller_rho(known: &Known) -> Option<Claim> {
    // The radius after the last pooling, by dataset.
    let of = |pool: &str| -> Vec<(&str, f64)> {
        let rows = known.paper.statistics.iter().filter(|row| row.pool == pool);
        rows.filter_map(|row| Some((row.summary.dataset.as_str(), row.summary.levels.last()?.rho?))).collect()
    };
    let (ndp, others) = (of("ndp"), [of("graclus"), of("nmf")]);
    let smaller = |(dataset, rho): &(&str, f64)| {
        let other = |rows: &Vec<(&str, f64)>| rows.iter().find(|row| row.0 == *dataset).map(|row| row.1);
        let others: Vec<f64> = others.iter().filter_map(other).collect();
        !others.is_empty() && others.iter().all(|other| *rho < other - 0.05)
    };
    let held: Vec<&(&str, f64)> = ndp.iter().filter(|row| smaller(row)).collect();
    let lowest = ndp.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(Claim {
        claim: "Graphs pooled by NDP have a smaller spectral radius of the normalised adjacency, so that states converge faster.".into(),
        found: format!(
            "That radius is 1 for every undirected graph with an edge, whatever made it; a mean falls below 1 only where pooled graphs have lost all edges. Smaller by more than 0.05 than with both other poolings on {} of {} datasets; lowest {:.2} ({}).",
            held.len(), ndp.len(), lowest.1, lowest.0
        ),
        verdict: match held.len() {
            0 => Verdict::Fails,
            held => Verdict::generally(held, ndp.len()),
        },
    })
}

fn deep_is_cheaper(known: &Known) -> Option<Claim> {
    let at = |blocks| known.paper.measured.get(&(Experiment::Blocks, blocks)).copied();
    let (one, two, four) = (at(1)?, at(2)?, at(4)?);
    Some(Claim {
        claim: "For the same total number of units a deep model costs less than a shallow one.".into(),
        found: format!(
            "b-hard, {} units in all: 2 blocks take {:.2}, 4 blocks {:.2} of the time of one.",
            super::growth::UNITS,
            two / one,
            four / one
        ),
        verdict: if two < one && four < one { Verdict::Holds } else { Verdict::Fails },
    })
}

fn linear_in_vertices(known: &Known) -> Option<Claim> {
    let measured = known.paper.of(Experiment::Vertices);
    let points: Vec<(f64, f64)> = measured.iter().map(|(vertices, s)| (vertices.ln(), s.ln())).collect();
    let (&(first, _), &(last, _)) = (points.first()?, points.last()?);
    let count = points.len() as f64;
    let mean = |value: fn(&(f64, f64)) -> f64| points.iter().map(value).sum::<f64>() / count;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let slope = points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum::<f64>()
        / points.iter().map(|p| (p.0 - x).powi(2)).sum::<f64>();
    (points.len() > 2).then(|| Claim {
        claim: "On graphs of bounded degree the cost grows linearly with the number of vertices.".into(),
        found: format!(
            "Grids of {:.0} to {:.0} vertices: seconds grow as N^{slope:.2}.",
            first.exp(),
            last.exp()
        ),
        verdict: if (slope - 1.0).abs() < 0.15 { Verdict::Holds } else { Verdict::InPart },
    })
}

/// A line for each claim.
pub(super) fn table(claims: &[Claim]) -> Table {
    let mut table = Table::new("", ["the paper's claim", "found", ""]);
    let row = |claim: &Claim| {
        [claim.claim.as_str(), &claim.found, claim.verdict.text()].map(Cell::sentence).to_vec()
    };
    table.rows.extend(claims.iter().map(row));
    table
}
