"""Pictures and their contents, compared with scikit-learn, dense matrices and an XML parser."""

import pickle
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from equations import fixed_point, normalized
from stepwell import (
    Graph,
    PyramidalReservoir,
    PyramidalReservoirClassifier,
    PyramidalReservoirRegressor,
    coarsen,
    make_benchmark,
    plot_embedding,
    plot_explanation,
    plot_pyramid,
)

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = ["\"'><script>alert(1)</script>", "x" * 10_000, "]]>&lt;\x00\x07\u202e", "<!-- ä中🐉 -->\n\r\t"]


# The planes.


def clouds(classes, rows, columns, seed):
    """Correlated points around a centre for each class, on different scales."""
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=rows)
    mixed = rng.normal(size=(rows, columns)) @ rng.normal(size=(columns, columns))
    return (mixed + 3 * rng.normal(size=(classes, columns))[y]) * 10.0 ** rng.uniform(-3, 3, columns) + 7, y


def embedded():
    ds = make_benchmark("b-hard-small")
    model = PyramidalReservoir(spectral_radius=0.5, precision="f64", pool="graclus")
    return model.fit_transform(ds.graphs), ds.y


VECTORS = {
    "iris": lambda: load_iris(return_X_y=True),
    "like iris": lambda: clouds(3, 150, 4, 0),
    "many classes": lambda: clouds(9, 400, 12, 1),
    "few rows": lambda: clouds(3, 20, 50, 2),
    "embedding": embedded,
}


def same_up_to_sign(found, right, error=1e-6):
    for ours, theirs in zip(found.T, right.T, strict=True):
        difference = min(np.linalg.norm(ours - theirs), np.linalg.norm(ours + theirs))
        assert difference <= error * np.linalg.norm(theirs)


@pytest.mark.parametrize("which", VECTORS)
def test_principal_components_are_those_of_scikit_learn(which):
    X, _ = VECTORS[which]()
    pca = PCA(2, svd_solver="full").fit(X)
    picture = plot_embedding(X, method="pca")
    same_up_to_sign(picture.points, pca.transform(X))
    np.testing.assert_allclose(picture.explained, pca.explained_variance_ratio_, rtol=1e-6)


def discriminants(X, y):
    """Scikit-learn's discriminants, on the scale of its version 1.9: earlier versions divide the
    variance inside classes by the number of rows minus the number of classes."""
    points = LinearDiscriminantAnalysis().fit(X, y).transform(X)
    means = np.array([points[y == label].mean(0) for label in y])
    return points[:, :2] / np.sqrt(np.mean((points - means)[:, 0] ** 2))


@pytest.mark.parametrize("which", VECTORS)
@pytest.mark.filterwarnings("ignore:.*collinear")
def test_discriminants_are_those_of_scikit_learn(which):
    X, y = VECTORS[which]()
    lda = LinearDiscriminantAnalysis(n_components=2).fit(X, y)
    picture = plot_embedding(X, y)
    same_up_to_sign(picture.points, discriminants(X, y))
    np.testing.assert_allclose(picture.explained, lda.explained_variance_ratio_, rtol=1e-6)


def test_two_classes_have_a_second_axis_of_what_remains():
    X, y = clouds(2, 200, 6, 3)
    lda = LinearDiscriminantAnalysis().fit(X, y)
    direction = lda.scalings_[:, 0] / np.linalg.norm(lda.scalings_[:, 0])
    centred = X - X.mean(0)
    rest = centred - np.outer(centred @ direction, direction)
    right = np.column_stack([discriminants(X, y)[:, 0], PCA(1, svd_solver="full").fit_transform(rest)[:, 0]])
    same_up_to_sign(plot_embedding(X, y).points, right)


def test_constant_and_repeated_columns():
    X, y = clouds(3, 90, 3, 4)
    wide = np.column_stack([np.full(90, 0.1), X, X[:, 0], np.zeros(90)])
    same_up_to_sign(plot_embedding(wide, y).points, plot_embedding(X, y).points)
    pca = PCA(2, svd_solver="full").fit_transform(wide)
    same_up_to_sign(plot_embedding(wide, method="pca").points, pca)


# The parts of decision values.

POOLINGS = {
    "none": {},
    "graclus": {},
    "graclus max": {"reduce": "max"},
    "nmf": {},
    "ndp": {},
    "kmis": {"reduce": "sum"},
}


def some_graphs():
    rng = np.random.default_rng(0)
    drawn = [nx.gnp_random_graph(15, 0.25, seed=seed) for seed in range(6)]
    drawn += [nx.star_graph(7), nx.path_graph(9), nx.disjoint_union(nx.cycle_graph(5), nx.complete_graph(4))]
    return [
        Graph(np.array(graph.edges).T, rng.normal(size=(len(graph), 3)), num_nodes=len(graph)) for graph in drawn
    ] + [Graph([[0, 1], [1, 2]], rng.normal(size=(5, 3)))]


GRAPHS = some_graphs()


def contributions(model, graph, pool, how, column):
    """The contribution of each vertex, level by level, from the equations."""
    blocks, aggregates = model.blocks, model.aggregate
    levels = coarsen(graph, pool, levels=blocks, **how) if pool != "none" else []
    coef = np.vstack([-model.coef_[0], model.coef_[0]]) if len(model.coef_) == 1 else model.coef_
    coef, added = iter(coef[column]), {}
    weights = iter(model.weights_)
    for _ in range(model.stacks):
        A, X = graph.adjacency.toarray(), graph.features
        for block in range(blocks):
            W, V = next(weights)
            H, level = fixed_point(normalized(A), X @ V, W), block if levels else 0
            X = H
            if levels and (block < blocks - 1 or model.pool_last):
                S, A = levels[block].S.toarray(), levels[block].A.toarray()
                X = S.T @ H
                if how.get("reduce") == "max":
                    X = np.array([H[S[:, cluster] > 0].max(0) for cluster in range(S.shape[1])])
            if block == blocks - 1 and levels and model.pool_last:
                H, level = X, blocks
            if not model.concat and block < blocks - 1:
                continue
            values = added.setdefault(level, np.zeros(len(H)))
            for name in aggregates:
                for unit in H.T:
                    c = next(coef)
                    if name == "max":
                        values[unit.argmax()] += unit.max() * c
                    else:
                        values += unit * c / (len(unit) if name == "mean" else 1)
    return added


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # tolerance 0 is never met
@pytest.mark.filterwarnings("ignore:.*(no cluster|lost all)")
@pytest.mark.parametrize("aggregate", [["sum"], ["mean"], ["max"], ["max", "mean", "sum"]], ids="-".join)
@pytest.mark.parametrize("pooling", POOLINGS)
def test_contributions_follow_the_equations_and_add_up(pooling, aggregate):
    pool, how = pooling.split()[0], POOLINGS[pooling]
    for classes, precision, error, shape in [
        (3, "f64", 1e-9, {"concat": True, "stacks": 2}),
        (2, "f32", 1e-5, {"pool_last": True}),
    ]:
        y = np.arange(len(GRAPHS)) % classes
        model = PyramidalReservoirClassifier.from_preset(
            "paper",
            pool=pool, blocks=2, units=6, raw=True, spectral_radius=0.4, tol=0, max_iter=200, alpha=0.1,
            precision=precision, aggregate=aggregate, **how, **shape,
        ).fit(GRAPHS, y)  # fmt: skip
        for graph in GRAPHS:
            decisions = model.decision_function([graph])[0]
            decisions = [-decisions, decisions] if classes == 2 else decisions
            scale = np.abs(model.coef_).sum()
            for column in range(classes):
                found = plot_explanation(model, graph, column)
                right = contributions(model, graph, pool, how, column)
                assert found.contributions.keys() == right.keys()
                for level, values in right.items():
                    np.testing.assert_allclose(found.contributions[level], values, rtol=0, atol=error * scale)
                total = found.intercept + sum(values.sum() for values in found.contributions.values())
                assert abs(total - decisions[column]) <= error * scale
                assert abs(found.decision - decisions[column]) <= error * scale
                assert abs(found.intercept + found.vertices.sum() - total) <= error * scale
                assert found.vertices.shape == (graph.num_nodes,)


def test_explanations_of_regressions_and_what_is_refused():
    y = np.array([graph.num_edges for graph in GRAPHS], float)
    settings = {"preset": "paper", "units": 6, "spectral_radius": 0.4, "max_iter": 200}
    model = PyramidalReservoirRegressor.from_preset(**settings).fit(GRAPHS, y)
    found = plot_explanation(model, GRAPHS[0])
    assert abs(found.decision - model.predict(GRAPHS[:1])[0]) < 1e-6 * abs(found.decision)
    several = PyramidalReservoirRegressor.from_preset(**settings).fit(GRAPHS, np.column_stack([y, -y]))
    one, two = (plot_explanation(several, GRAPHS[0], target) for target in (0, 1))
    np.testing.assert_allclose(one.vertices, -two.vertices, atol=1e-9)
    with pytest.raises(ValueError, match="label: expected a target from 0 to 1, found 2"):
        plot_explanation(several, GRAPHS[0], 2)
    for more in ({"aggregate": "std"}, {"random_features": 7}, {"landmarks": 9}, {"landmarks": 9, "kernel": "both"}):
        model = PyramidalReservoirRegressor.from_preset(**settings, **more).fit(GRAPHS, y)
        found = plot_explanation(model, GRAPHS[0])
        assert abs(found.intercept + found.vertices.sum() - model.predict(GRAPHS[:1])[0]) < 1e-6 * np.abs(y).max(), more
    classifier = PyramidalReservoirClassifier.from_preset(**settings).fit(GRAPHS, np.where(y > 9, "large", "small"))
    assert plot_explanation(classifier, GRAPHS[0]).title.startswith("graph: toward class ")
    with pytest.raises(ValueError, match="label: expected one of large, small, found 'huge'"):
        plot_explanation(classifier, GRAPHS[0], "huge")
    with pytest.raises(TypeError, match="model: expected a Stepwell classifier or regressor"):
        plot_explanation(PyramidalReservoir(), GRAPHS[0])


# The files of pictures.


def parsed(svg):
    root = ET.fromstring(svg)
    assert root.tag == SVG + "svg" and root.find(SVG + "title").text and root.find(SVG + "desc").text
    return root


def snapshots():
    folder = Path(__file__).parents[2] / "stepwell-lab" / "tests" / "snapshots"
    return sorted(folder.glob("*.svg"))


@pytest.mark.parametrize("path", snapshots(), ids=lambda path: path.stem)
def test_snapshots_are_xml_with_text_as_text(path):
    root = parsed(path.read_text())
    assert len(list(root.iter(SVG + "text"))) > 3
    width, height = float(root.get("width")), float(root.get("height"))
    assert root.get("viewBox") == f"0 0 {width:g} {height:g}"
    for text in root.iter(SVG + "text"):
        assert 0 <= float(text.get("x")) <= width and 0 <= float(text.get("y")) <= height
    assert not list(root.iter(SVG + "script")) and "http" not in path.read_text().replace(SVG[1:-1], "")


class Tags(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.found = []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))


def test_hostile_names_stay_text():
    rng = np.random.default_rng(0)
    y = np.array([HOSTILE[k % 4].replace("\x00", "") for k in range(20)])
    picture = plot_embedding(rng.normal(size=(20, 3)), y, ids=[name * 2 for name in y], name=HOSTILE[0])
    texts = [element.text or "" for element in parsed(picture.svg).iter()]
    assert any("<script>" in text for text in texts) and max(map(len, texts[3:])) < 4000
    tags = Tags(picture.html).found
    assert [tag for tag, _ in tags].count("script") == 1
    assert not any(name.startswith("on") or name == "src" for _, attributes in tags for name in attributes)
    assert len(picture.html) < 100_000
    path = Graph([[0, 1], [1, 2]])
    for name in HOSTILE:
        parsed(plot_pyramid(path, "ndp", name=name).svg)


def test_every_kind_of_label_colours_points():
    X = np.random.default_rng(0).normal(size=(12, 4))
    count = lambda picture: len(parsed(picture.svg).findall(f".//{SVG}g[@class='entry']"))
    assert count(plot_embedding(X)) == 1
    assert count(plot_embedding(X, np.arange(12) % 3)) == 3
    assert count(plot_embedding(X, np.arange(12) % 3 == 0)) == 2
    assert count(plot_embedding(X, ["a", "b", "c", "a"] * 3)) == 3
    assert count(plot_embedding(X, np.array(["a", "b"] * 6, object))) == 2
    assert count(plot_embedding(X, np.linspace(0, 1, 12))) == 5
    assert "linear discriminants" in plot_embedding(X, [0, 1] * 6).title
    assert "principal components" in plot_embedding(X, np.linspace(0, 1, 12)).title
    for wrong, message in [
        ({"y": [1, 2]}, r"y: expected shape \(12,\), found \(2,\)"),
        ({"y": [1] * 12}, "12 rows of 1 classes"),
        ({"method": "lda"}, "lda needs classes"),
        ({"method": "tsne"}, "method: expected 'lda' or 'pca', found 'tsne'"),
        ({"ids": ["a"]}, "ids: expected 12, found 1"),
    ]:
        with pytest.raises(ValueError, match=message):
            plot_embedding(X, **wrong)


def test_pyramids_show_sizes_and_lie_where_they_should():
    ds = make_benchmark("b-easy-small")
    picture = plot_pyramid(ds.graphs[0], "ndp", levels=1)
    levels = coarsen(ds.graphs[0], "ndp", levels=1)
    assert picture.levels[0]["vertices"] == ds.graphs[0].num_nodes
    assert picture.levels[1]["vertices"] == picture.levels[0]["kept"] == len(levels[0].kept)
    A = ds.graphs[0].adjacency.toarray()
    kept = np.zeros(len(A), bool)
    kept[levels[0].kept] = True
    assert abs(picture.levels[0]["cut"] - A[kept][:, ~kept].sum() * 2 / A.sum()) < 1e-12
    square = Graph([[0, 1, 2, 3], [1, 2, 3, 0]])
    corners = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
    circles = parsed(plot_pyramid(square, coordinates=corners).svg).findall(f".//{SVG}g/{SVG}circle")
    places = [(float(circle.get("cx")), float(circle.get("cy"))) for circle in circles]
    assert len(places) == 4 and len({x for x, _ in places}) == len({y for _, y in places}) == 2
    with pytest.raises(ValueError, match=r"coordinates: expected shape \(4, 2\), found \(3, 2\)"):
        plot_pyramid(square, coordinates=corners[:3])
    with pytest.raises(TypeError, match="expected no options without pool=, found delta"):
        plot_pyramid(square, delta=1)
    with pytest.raises(ValueError, match="levels"):
        plot_pyramid(square, "ndp", levels=-1)


def test_notebooks_and_files(tmp_path):
    picture = plot_pyramid(Graph([[0, 1], [1, 2]]), "graclus")
    assert picture._repr_svg_() == picture.svg
    ((_, frame),) = Tags(picture._repr_html_()).found[:1]
    assert frame["srcdoc"] == picture.html and frame["sandbox"] == "allow-scripts"
    picture.save(tmp_path / "a.svg")
    picture.save(str(tmp_path / "a.html"))
    assert (tmp_path / "a.svg").read_text() == picture.svg
    assert (tmp_path / "a.html").read_text() == picture.html
    with pytest.raises(ValueError, match=r"expected a file that ends in \.svg or \.html"):
        picture.save(tmp_path / "a.png")
    with pytest.raises(OSError):
        picture.save("/proc/nowhere/a.svg")
    assert len(list(tmp_path.iterdir())) == 2
    assert repr(picture) == "<PyramidPicture: graph>"
    assert pickle.loads(pickle.dumps(picture.levels)) == picture.levels
