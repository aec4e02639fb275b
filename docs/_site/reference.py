"""Checks that the Python reference describes every public name.

usage: reference.py SITE

Every name in `__all__` of the package and its modules must have an entry on SITE/python.html.
Modules are parsed, not imported: some need packages that are not installed.
"""

import ast
import sys
from pathlib import Path

import stepwell

PACKAGE = Path(stepwell.__file__).parent


def public(path):
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return [name for name in ast.literal_eval(node.value) if not name.startswith("_")]
    return []


def main(site):
    page = Path(site, "python.html").read_text()
    names = []
    for path in [PACKAGE / "__init__.py", PACKAGE / "molecules" / "__init__.py", *PACKAGE.glob("[!_]*.py")]:
        module = ".".join(["stepwell", *path.relative_to(PACKAGE).with_suffix("").parts]).removesuffix(".__init__")
        names += [f"{module}.{name}" for name in public(path)]
    missing = [name for name in names if f'id="{name}"' not in page]
    print("\n".join([*(f"{name} is missing on python.html" for name in missing), f"{len(names)} names, {len(missing)} missing"]))
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
