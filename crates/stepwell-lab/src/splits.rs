//! Splits graphs into training, validation and test graphs.
//!
//! ```
//! use stepwell_lab::splits::stratified;
//! let classes = [0, 0, 0, 0, 0, 1, 1, 1, 1, 1];
//! let folds = stratified(&classes, 5, 0.25, 7)?;
//! let mut tested: Vec<usize> = folds.iter().flat_map(|fold| fold.test.clone()).collect();
//! tested.sort();
//! assert_eq!(tested, (0..10).collect::<Vec<_>>()); // every graph is tested once
//! assert_eq!(folds[0].validation.len(), 2); // a quarter of the rest, of each class one
//! # Ok::<(), stepwell_lab::Error>(())
//! ```

use std::collections::BTreeMap;

use serde::Deserialize;
use stepwell::rng::Stream;
use stepwell_data::Part;

use crate::error::{Error, Result};

/// One round of a cross-validation.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Fold {
    /// Graphs that candidates are trained on.
    pub train: Vec<usize>,
    /// Graphs that candidates are compared on. May be empty if nothing is chosen.
    pub validation: Vec<usize>,
    /// Graphs that no choice depends on.
    pub test: Vec<usize>,
}

impl Fold {
    /// The split that comes with a dataset.
    pub fn of_parts(parts: &[Part]) -> Self {
        let of = |part| (0..parts.len()).filter(|&graph| parts[graph] == part).collect();
        Self { train: of(Part::Train), validation: of(Part::Validation), test: of(Part::Test) }
    }

    /// A split of vertices, as positions among the vertices that have a target.
    pub fn of_vertices(parts: &[Option<Part>], known: &[usize]) -> Self {
        let of = |part| (0..known.len()).filter(|&row| parts[known[row]] == Some(part)).collect();
        Self { train: of(Part::Train), validation: of(Part::Validation), test: of(Part::Test) }
    }

    /// All graphs that the chosen configuration may be trained on: training and
    /// validation graphs.
    pub fn learnt(&self) -> Vec<usize> {
        let mut graphs: Vec<usize> = self.train.iter().chain(&self.validation).copied().collect();
        graphs.sort_unstable();
        graphs
    }

    /// Moves a share of the training graphs to the validation graphs: the same share of
    /// every class or, if classes are too small for that, of all graphs.
    pub fn hold_out(&mut self, classes: &[usize], share: f64, mut stream: Stream) {
        let count = |graphs: &[usize]| ((graphs.len() as f64 * share).round() as usize).min(graphs.len());
        let mut all = std::mem::take(&mut self.train);
        for mut graphs in by_class(classes, all.iter().copied()) {
            stream.shuffle(&mut graphs);
            let aside = count(&graphs);
            self.validation.extend(&graphs[..aside]);
            self.train.extend(&graphs[aside..]);
        }
        if self.validation.is_empty() && all.len() > 1 {
            stream.shuffle(&mut all);
            let aside = count(&all).max(1);
            (self.validation, self.train) = (all[..aside].to_vec(), all[aside..].to_vec());
        }
        self.train.sort_unstable();
        self.validation.sort_unstable();
    }

    /// The same with whole groups, drawn at random. Takes each group that keeps the
    /// validation part within the requested size or, if that is larger, the size of the
    /// smallest group. Moves nothing if all training graphs are in one group.
    pub fn hold_out_groups(&mut self, groups: &[usize], share: f64, mut stream: Stream) {
        let mut lists = by_class(groups, self.train.iter().copied());
        lists.retain(|graphs| !graphs.is_empty());
        let smallest = lists.iter().map(Vec::len).min().unwrap_or(0);
        let wanted = (self.train.len() as f64 * share).round() as usize;
        let most = wanted.max(smallest).min(self.train.len().saturating_sub(1));
        stream.shuffle(&mut lists);
        self.train.clear();
        for graphs in lists {
            let fits = self.validation.len() + graphs.len() <= most;
            if fits { &mut self.validation } else { &mut self.train }.extend(graphs);
        }
        self.train.sort_unstable();
        self.validation.sort_unstable();
    }
}

/// Folds with every class spread as evenly as possible. Each holds out a share
/// `held_out` of its training graphs for validation.
pub fn stratified(classes: &[usize], folds: usize, held_out: f64, seed: u64) -> Result<Vec<Fold>> {
    if folds < 2 || folds > classes.len() {
        let expected = format!("2 to {0} folds for {0} graphs", classes.len());
        return Err(Error::Split { expected, found: folds.to_string() });
    }
    check_share(held_out)?;
    let by_class = by_class(classes, 0..classes.len());
    let mut fold_of = vec![0; classes.len()];
    // Each class continues where the previous class ended, so that folds have equal
    // sizes.
    let mut next = 0;
    let mut stream = Stream::new(seed, "folds", [0, 0]);
    for mut graphs in by_class {
        stream.shuffle(&mut graphs);
        for graph in graphs {
            fold_of[graph] = next % folds;
            next += 1;
        }
    }
    let fold = |number: usize| {
        let mut fold = tested_on(&fold_of, number);
        fold.hold_out(classes, held_out, Stream::new(seed, "held out", [number as u64, 0]));
        fold
    };
    Ok((0..folds).map(fold).collect())
}

/// Folds of about equal size that split no group: groups are assigned, largest first and equal ones
/// in random order, to the fold that is smallest so far. Whole groups are held out for validation.
///
/// ```
/// use stepwell_lab::splits::grouped;
/// let folds = grouped(&[0, 0, 0, 1, 1, 2, 2, 3], 2, 0.4, 7)?;
/// assert_eq!(folds[0].test.len(), 4); // the group of three with that of one
/// assert_eq!(folds[0].train.len(), 2);
/// # Ok::<(), stepwell_lab::Error>(())
/// ```
pub fn grouped(groups: &[usize], folds: usize, held_out: f64, seed: u64) -> Result<Vec<Fold>> {
    check_share(held_out)?;
    let mut lists = by_class(groups, 0..groups.len());
    lists.retain(|graphs| !graphs.is_empty());
    if folds < 2 || folds > lists.len() {
        let expected = format!("2 to {0} folds for {0} groups", lists.len());
        return Err(Error::Split { expected, found: folds.to_string() });
    }
    Stream::new(seed, "folds", [0, 0]).shuffle(&mut lists);
    lists.sort_by_key(|graphs| std::cmp::Reverse(graphs.len()));
    let (mut fold_of, mut sizes) = (vec![0; groups.len()], vec![0; folds]);
    for graphs in lists {
        let smallest = (0..folds).min_by_key(|&fold| sizes[fold]).unwrap_or(0);
        sizes[smallest] += graphs.len();
        graphs.into_iter().for_each(|graph| fold_of[graph] = smallest);
    }
    let fold = |number: usize| {
        let mut fold = tested_on(&fold_of, number);
        fold.hold_out_groups(groups, held_out, Stream::new(seed, "held out", [number as u64, 0]));
        fold
    };
    Ok((0..folds).map(fold).collect())
}

/// Numbers the groups in the order of their names, and returns each graph's number.
pub fn numbered(groups: &[String]) -> Vec<usize> {
    let mut numbers: BTreeMap<&str, usize> = groups.iter().map(|name| (name.as_str(), 0)).collect();
    numbers.values_mut().zip(0..).for_each(|(number, place)| *number = place);
    groups.iter().map(|name| numbers[name.as_str()]).collect()
}

fn check_share(held_out: f64) -> Result<()> {
    if held_out > 0.0 && held_out < 1.0 {
        return Ok(());
    }
    let expected = "a held-out share above 0 and below 1".into();
    Err(Error::Split { expected, found: held_out.to_string() })
}

/// The fold that tests on the graphs with this number, without validation graphs.
fn tested_on(fold_of: &[usize], number: usize) -> Fold {
    let part =
        |inside: bool| (0..fold_of.len()).filter(|&graph| (fold_of[graph] == number) == inside).collect();
    Fold { train: part(false), validation: Vec::new(), test: part(true) }
}

/// Number of classes with fewer graphs than folds. Some folds have no graph of these
/// classes.
pub fn rare_classes(classes: &[usize], folds: usize) -> usize {
    by_class(classes, 0..classes.len()).iter().filter(|graphs| (1..folds).contains(&graphs.len())).count()
}

fn by_class(classes: &[usize], graphs: impl Iterator<Item = usize>) -> Vec<Vec<usize>> {
    let count = classes.iter().max().map_or(0, |most| most + 1);
    let mut lists = vec![Vec::new(); count];
    graphs.for_each(|graph| lists[classes[graph]].push(graph));
    lists
}

/// Parses splits in the format of the fair comparison of graph neural networks: a list
/// of folds with `test` and `model_selection[0]` with `train` and `validation`.
pub fn parse(text: &str, num_graphs: usize) -> Result<Vec<Fold>> {
    #[derive(Deserialize)]
    struct Outer {
        test: Vec<usize>,
        model_selection: Vec<Inner>,
    }
    #[derive(Deserialize)]
    struct Inner {
        train: Vec<usize>,
        validation: Vec<usize>,
    }
    let broken = |expected: &str, found: String| Error::Split { expected: expected.into(), found };
    let folds: Vec<Outer> = serde_json::from_str(text)
        .map_err(|error| broken("a list of folds with 'test' and 'model_selection'", error.to_string()))?;
    if folds.is_empty() {
        return Err(broken("at least one fold", "none".into()));
    }
    let mut made = Vec::new();
    for (number, Outer { test, model_selection }) in folds.into_iter().enumerate() {
        let Some(Inner { train, validation }) = model_selection.into_iter().next() else {
            return Err(broken(
                "'train' and 'validation' in 'model_selection'",
                format!("none in fold {number}, counted from 0"),
            ));
        };
        let mut met = vec![false; num_graphs];
        for &graph in train.iter().chain(&validation).chain(&test) {
            match met.get_mut(graph) {
                Some(met) if !*met => *met = true,
                Some(_) => {
                    return Err(broken(
                        "every graph once in a fold",
                        format!("graph {graph} twice in fold {number}, both counted from 0"),
                    ));
                }
                None => {
                    let expected = format!("graphs below {num_graphs}, the size of the dataset");
                    return Err(broken(&expected, format!("{graph} in fold {number}, counted from 0")));
                }
            }
        }
        made.push(Fold { train, validation, test });
    }
    Ok(made)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn folds_are_even_and_parts_are_apart(
            classes in prop::collection::vec(0usize..4, 40..120), folds in 2usize..7, seed: u64,
        ) {
            let made = stratified(&classes, folds, 0.2, seed).unwrap();
            prop_assert_eq!(&made, &stratified(&classes, folds, 0.2, seed).unwrap());
            let sizes: Vec<usize> = made.iter().map(|fold| fold.test.len()).collect();
            prop_assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1);
            for class in 0..4 {
                let of = |graphs: &[usize]| graphs.iter().filter(|&&graph| classes[graph] == class).count();
                let counts: Vec<usize> = made.iter().map(|fold| of(&fold.test)).collect();
                prop_assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1);
            }
            for fold in &made {
                let mut all: Vec<usize> = fold.learnt();
                all.extend(&fold.test);
                all.sort();
                prop_assert_eq!(all, (0..classes.len()).collect::<Vec<_>>());
            }
        }
    }

    proptest! {
        #[test]
        fn no_group_is_in_two_parts(
            groups in prop::collection::vec(0usize..30, 40..120), folds in 2usize..6, seed: u64, share in 0.05f64..0.6,
        ) {
            let made = grouped(&groups, folds, share, seed).unwrap();
            prop_assert_eq!(&made, &grouped(&groups, folds, share, seed).unwrap());
            let mut tested: Vec<usize> = made.iter().flat_map(|fold| fold.test.clone()).collect();
            tested.sort();
            prop_assert_eq!(tested, (0..groups.len()).collect::<Vec<_>>());
            let largest = (0..30).map(|group| groups.iter().filter(|&&g| g == group).count()).max().unwrap();
            let sizes: Vec<usize> = made.iter().map(|fold| fold.test.len()).collect();
            prop_assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= largest);
            for fold in &made {
                let of = |graphs: &[usize]| graphs.iter().map(|&graph| groups[graph]).collect::<BTreeSet<_>>();
                let (train, validation, test) = (of(&fold.train), of(&fold.validation), of(&fold.test));
                prop_assert!(train.is_disjoint(&validation) && train.is_disjoint(&test) && validation.is_disjoint(&test));
                prop_assert!(!fold.train.is_empty() && !fold.validation.is_empty());
                prop_assert_eq!(fold.train.len() + fold.validation.len() + fold.test.len(), groups.len());
            }
        }
    }

    #[test]
    fn folds_need_as_many_groups() {
        let names = ["b", "a", "b", "c"].map(str::to_owned);
        assert_eq!(numbered(&names), [1, 0, 1, 2]);
        let refused = grouped(&numbered(&names), 5, 0.1, 0).unwrap_err().to_string();
        assert_eq!(refused, "splits: expected 2 to 3 folds for 3 groups, found 5");
        // Only one group is left for training, so nothing can be held out.
        let folds = grouped(&[0, 0, 1, 1], 2, 0.5, 0).unwrap();
        assert!(folds.iter().all(|fold| fold.validation.is_empty() && fold.train.len() == 2));
    }

    #[test]
    fn classes_smaller_than_the_number_of_folds_are_spread() {
        // As in FIRSTMM_DB: eleven classes of 1 to 6 graphs.
        let classes: Vec<usize> = (0..11).flat_map(|class| vec![class; 1 + class % 6]).collect();
        let folds = stratified(&classes, 5, 0.1, 0).unwrap();
        assert_eq!(folds.iter().map(|fold| fold.test.len()).sum::<usize>(), classes.len());
        for fold in &folds {
            assert!(!fold.validation.is_empty() && fold.train.len() > fold.validation.len());
        }
        assert_eq!(rare_classes(&classes, 5), 8);
        assert_eq!(rare_classes(&[0, 0, 2, 2], 2), 0);
    }

    #[test]
    fn any_share_can_be_held_out() {
        for (share, held_out) in [(-1.0, 1), (f64::NAN, 1), (0.5, 2), (1.0, 4), (7.0, 4)] {
            let mut fold = Fold { train: vec![0, 1, 2, 3], ..Fold::default() };
            fold.hold_out(&[0, 0, 1, 1], share, Stream::new(0, "test", [0, 0]));
            assert_eq!((fold.validation.len(), fold.train.len()), (held_out, 4 - held_out), "{share}");
        }
    }

    #[test]
    fn a_split_that_data_come_with_is_one_fold() {
        let parts = [Part::Train, Part::Test, Part::Train, Part::Validation];
        let fold = Fold::of_parts(&parts);
        assert_eq!(fold, Fold { train: vec![0, 2], validation: vec![3], test: vec![1] });
    }

    #[test]
    fn files_are_checked() {
        let good = r#"[{"test":[0],"model_selection":[{"train":[1,2],"validation":[3]}]}]"#;
        let folds = parse(good, 4).unwrap();
        assert_eq!(folds[0], Fold { train: vec![1, 2], validation: vec![3], test: vec![0] });
        let refused = |text: &str| parse(text, 4).unwrap_err().to_string();
        assert!(
            refused(&good.replace("[3]", "[4]")).contains("graphs below 4, the size of the dataset, found 4")
        );
        assert!(refused(&good.replace("[3]", "[1]")).contains("graph 1 twice in fold 0"));
        assert!(refused("[]").contains("at least one fold"));
        assert!(refused("{").contains("a list of folds"));
    }
}
