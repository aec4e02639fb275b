"""Classify graphs of a dataset: cross-validation, then a model for a fixed split.

usage: classify.py [DATASET]     a name such as MUTAG, or a path [b-easy-small]
"""

import sys

from sklearn.model_selection import StratifiedKFold, cross_val_score, train_test_split

from stepwell import PyramidalReservoirClassifier, load_dataset, make_benchmark

name = sys.argv[1] if len(sys.argv) > 1 else "b-easy-small"
ds = make_benchmark(name, random_state=0) if name.startswith("b-") else load_dataset(name)
print(f"{name}: {len(ds.graphs)} graphs")

folds = StratifiedKFold(5, shuffle=True, random_state=0)
scores = cross_val_score(PyramidalReservoirClassifier(n_jobs=-1), ds.graphs, ds.y, cv=folds)
print(f"accuracy {scores.mean():.3f} ± {scores.std():.3f} over {len(scores)} folds")

train, test = train_test_split(range(len(ds.graphs)), stratify=ds.y, random_state=0)
model = PyramidalReservoirClassifier(n_jobs=-1).fit(ds.graphs[train], ds.y[train])
print(f"leave-one-out {model.metric_}: {model.loo_score_:.3f}")
print(f"test accuracy: {model.score(ds.graphs[test], ds.y[test]):.3f}")
for truth, row in zip(ds.y[test[:3]], model.predict_proba(ds.graphs[test[:3]])):
    probabilities = dict(zip(model.classes_.tolist(), row.round(2).tolist()))
    print(f"class {truth}: {probabilities}")
