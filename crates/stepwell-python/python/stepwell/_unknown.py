"""Warnings of labels that no training graph has."""

import warnings


def warn_of_labels(model, batch, stacklevel):
    """Warns of vertices and edges with an unknown label, and names the first one."""
    of_vertices, of_edges = (model.unknown_labels, "labels"), (model.unknown_edge_labels, "edge_labels")
    for (count_in, labels_of), kinds in ((of_vertices, ("vertex has", "vertices have")), (of_edges, ("edge has", "edges have"))):
        count = count_in(batch)
        if not count:
            continue
        graph = _first(batch, count_in)
        known = model.features if labels_of == "labels" else model.features["edges"]
        found = _unknown_label(getattr(batch.graph(graph), labels_of)(), known["labels"])
        label = "" if found is None else f": {_name(model, labels_of, found[0])}{found[1]}"
        first, them = ("", "it") if count == 1 else ("first in ", "them")
        warnings.warn(
            f"{count} {kinds[count > 1]} a label that no training graph has ({first}graph {graph}{label}); "
            f"the model treats {them} as unlabelled",
            stacklevel=stacklevel,
        )


def _first(batch, count_in):
    """The first graph with an unknown label."""
    low, high = 0, len(batch)
    while high - low > 1:
        middle = (low + high) // 2
        if count_in(batch.select(list(range(low, middle)))):
            high = middle
        else:
            low = middle
    return low


def _unknown_label(rows, known):
    """The column of the first unknown label of a graph, and the label."""
    for row in rows:
        for column, labels in enumerate(known):
            if row[column] not in labels:
                return column, int(row[column])
    return None


def _name(model, labels_of, column):
    """The name of a column of labels, if the model reads molecules."""
    if model.molecules is None:
        return ""
    try:
        from .molecules._features import feature_set
    except ImportError:  # without RDKit, columns have no names
        return ""
    columns = feature_set(model.molecules)
    return f"{(columns.atoms if labels_of == 'labels' else columns.bonds)[column].name} "
