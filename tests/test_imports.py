"""Contract of imports: which package sees which, and none sees another's privates.

A package is a folder of `src/locallin`, or a module beside the folders.
"""

import ast
import sys
from pathlib import Path
from typing import NamedTuple

import locallin

SRC = Path(locallin.__file__).parent
# A package imports from the lines below its own; those of one line do not see each
# other. "locallin" is the package's own __init__, whose lazy names lead to all methods.
ORDER = """
    __main__
    cli
    report
    dask export
    inspection
    base rivals
    locallin
    methods
    solvers streams
    gram
    atlas
    charts feature_maps
    encoding
    coding
    anchors
    data
    engine
    kernels
"""
LINE = {name: n for n, line in enumerate(ORDER.split("\n")) for name in line.split()}
SKLEARN_DOOR = "engine/sklearn_api.py"  # the one file with private scikit-learn
# Private names of other libraries, and the files that may use them.
FOREIGN = {
    "dask/_estimator.py": {"_meta"},  # dask's description of what blocks hold
    "dask/_predict.py": {"_meta_nonempty"},
    "kernels/_jit.py": {"_cache"},  # Numba's cache of a kernel
    "kernels/borrow.py": {"_getvalue"},  # how Numba's extensions end
    "kernels/cache.py": {"_CacheLocator"},
}
# What scikit-learn reads from any class, and methods of named tuples.
PUBLIC = {"_parameter_constraints", "_replace", "_asdict", "_fields"}


class Use(NamedTuple):
    """A name that a file imports from a module, or an attribute (no module)."""

    file: str
    module: str
    name: str

    @property
    def package(self):
        return package_of("locallin." + self.file.removesuffix(".py").replace("/", "."))

    @property
    def is_private(self):
        words = [*self.module.split("."), self.name]
        return any(word[:1] == "_" and word[:2] != "__" for word in words)


def package_of(module):
    """The package of a module, given in full; None if it is another library's."""
    root, first, *_ = [*module.split("."), "__init__"]
    if root != "locallin":
        return None
    return "locallin" if first in ("__init__", "__version__") else first


def uses_in(file):
    """Imports, and attributes of anything but self and cls."""
    name = file.relative_to(SRC).as_posix()
    for node in ast.walk(ast.parse(file.read_text())):
        match node:
            case ast.Import(names=names):
                yield from (Use(name, alias.name, "") for alias in names)
            case ast.ImportFrom(module="locallin", names=names):
                for alias in names:
                    home = locallin._HOME.get(alias.name, f"locallin.{alias.name}")
                    yield Use(name, home, alias.name)
            case ast.ImportFrom(module=module, names=names, level=level):
                assert not level, f"{name}: write imports in full"
                yield from (Use(name, module, alias.name) for alias in names)
            case ast.Attribute(ast.Name("self" | "cls")):
                pass
            case ast.Attribute(attr=attribute):
                yield Use(name, "", attribute)
            case ast.Call(
                ast.Name("getattr" | "hasattr" | "setattr"),
                [ast.Name(owner), ast.Constant(str(attribute)), *_],
            ) if owner not in ("self", "cls"):
                yield Use(name, "", attribute)


def definitions_in(file):
    """Names of functions, classes, variables and attributes of self."""
    for node in ast.walk(ast.parse(file.read_text())):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Name(name, ast.Store()):
                yield name
            case ast.Attribute(ast.Name("self" | "cls"), name, ast.Store()):
                yield name


FILES = {
    name: [*SRC.glob(f"{name}.py"), *(SRC / name).rglob("*.py")]
    for name in LINE
    if name != "locallin"
} | {"locallin": [SRC / "__init__.py"]}
USES = [use for files in FILES.values() for file in files for use in uses_in(file)]
OWN = {p: {n for f in files for n in definitions_in(f)} for p, files in FILES.items()}


def is_foreign(use):
    """Whether a private name is another package's, or another library's."""
    if not use.is_private or use.file == SKLEARN_DOOR:
        return False
    if use.name in PUBLIC | FOREIGN.get(use.file, set()):
        return False
    if use.module:
        return package_of(use.module) != use.package
    return use.name not in OWN[use.package]


def goes_up(use):
    """Whether an import leads to the same line or to one above."""
    target = package_of(use.module)
    if target in (None, use.package) or use.name == "__version__":
        return False
    return LINE[use.package] >= LINE[target]


def test_every_file_belongs_to_a_package():
    assert {f for files in FILES.values() for f in files} == set(SRC.rglob("*.py"))


def test_imports_go_one_way():
    assert any(package_of(use.module) == "kernels" for use in USES)
    assert [use for use in USES if goes_up(use)] == []


def test_private_names_stay_in_their_package():
    assert any(use.is_private for use in USES)
    assert [use for use in USES if is_foreign(use)] == []


def test_kernels_import_numpy_and_numba_only():
    modules = {use.module for use in USES if use.module and use.package == "kernels"}
    roots = {module.split(".")[0] for module in modules}
    assert roots - sys.stdlib_module_names <= {"numpy", "numba", "locallin"}


def test_private_names_of_other_libraries_are_still_used():
    for file, names in FOREIGN.items():
        assert names <= {use.name for use in USES if use.file == file}, file
