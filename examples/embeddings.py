"""Feed embeddings into scikit-learn: a pipeline, a grid search, a picture."""

from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from stepwell import PyramidalReservoir, make_benchmark, plot_embedding

ds = make_benchmark("b-easy-small", random_state=0)
train, test = ds.split == "train", ds.split == "test"

reservoir = PyramidalReservoir(units=100, max_iter=300, aggregate=["sum", "std"], random_state=0)
pipeline = make_pipeline(reservoir, StandardScaler(), SVC())
grid = {
    "pyramidalreservoir__spectral_radius": [0.3, 0.6, 0.9],
    "svc__C": [1, 10, 100],
}
search = GridSearchCV(pipeline, grid, cv=3).fit(ds.graphs[train], ds.y[train])
print(search.best_params_)
print(f"test accuracy {search.score(ds.graphs[test], ds.y[test]):.3f}")

vectors = search.best_estimator_[0].transform(ds.graphs)  # (graphs, 2 * 100)
print(vectors.shape)
plot_embedding(vectors, ds.y).save("points.html")
