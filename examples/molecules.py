"""From SMILES to a model and predictions: solubility of small molecules.

Needs RDKit (pip install './crates/stepwell-python[molecules]').
"""

from stepwell import PyramidalReservoirRegressor, load
from stepwell.molecules import from_smiles

# Measured log solubility; for your own table, see stepwell.molecules.read_csv.
MEASURED = {
    "CCO": 1.10, "CCCO": 0.62, "CCCCO": 0.00, "CCCCCO": -0.60, "CCCCCCO": -1.24,
    "CC(=O)O": 1.22, "CCC(=O)O": 1.13, "CCCC(=O)O": -0.19, "CC(=O)C": 1.24, "CCC(=O)C": 0.52,
    "c1ccccc1": -1.64, "Cc1ccccc1": -2.21, "CCc1ccccc1": -2.77, "Oc1ccccc1": 0.00,
    "Nc1ccccc1": -0.41, "C1CCCCC1": -3.10, "CC1CCCCC1": -3.85, "OC1CCCCC1": -0.44,
}  # fmt: skip
smiles, log_s = list(MEASURED), list(MEASURED.values())

# Every fifth molecule is held out. For new series, split by scaffold: scaffold_split(scaffolds(smiles)).
test = [row for row in range(len(smiles)) if row % 5 == 2]
train = [row for row in range(len(smiles)) if row % 5 != 2]

model = PyramidalReservoirRegressor(input="smiles", random_state=0)
model.fit([smiles[row] for row in train], [log_s[row] for row in train])
model.save("solubility.safetensors")

again = load("solubility.safetensors")  # the file stores how atoms and bonds are described
held_out = [smiles[row] for row in test]
intervals = again.predict_interval(held_out, coverage=0.8)
for row, predicted, (lower, upper) in zip(test, again.predict(held_out), intervals):
    print(f"{smiles[row]}: {predicted:.2f} in [{lower:.2f}, {upper:.2f}], measured {log_s[row]:.2f}")

graphs = from_smiles(["CC(=O)Oc1ccccc1C(=O)O"])  # aspirin as a graph
print(graphs[0], again.predict(graphs).round(2))
