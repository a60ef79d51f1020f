"""Data flows one way: every include and import points to the left of its own folder."""

import ast
import pathlib
import re

ROOT = pathlib.Path(__file__).parents[2]

# Which folders a folder may use, besides itself.
CORE = {
    "base": set(),
    "format": {"base"},
    "synth": {"base"},
    "convert": {"base", "format"},
    "store": {"base", "format"},
    "sample": {"base", "format", "store"},
    "walk": {"base", "format", "store"},
    "gather": {"base", "format", "store"},
    "analytics": {"base", "format", "store"},
    "pipeline": {"base", "format", "store", "sample", "walk", "gather"},
}
SYSTEM_CALL_HEADERS = re.compile(r"#include <(sys/|fcntl|unistd|dirent|sched|signal|pthread|linux/)")
# import graphzero loads these and nothing else from outside the standard library.
PYTHON_CORE = {"graphzero", "numpy"}
# What is not in one of these folders is left of them all.
PYTHON_LAYERS = ["", "loaders", "training", "_tools", "bench", "demo", "cli"]
STANDARD_LIBRARY = __import__("sys").stdlib_module_names


def sources(folder, *endings):
    return sorted(path for path in (ROOT / folder).rglob("*") if path.suffix in endings)


def includes(path):
    return re.findall(r'^#include "([^"]+)"', path.read_text(), re.MULTILINE)


def imports(tree, top_level_only):
    nodes = tree.body if top_level_only else ast.walk(tree)
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module


def test_core_folders_use_only_folders_to_their_left():
    wrong = []
    for path in sources("core", ".h", ".cpp"):
        own = path.parent.name
        for include in includes(path):
            top, folder = include.split("/")[:2]
            if top != "core" or (folder != own and folder not in CORE[own]):
                wrong.append(f"{path.relative_to(ROOT)} includes {include}")
    assert not wrong, "\n".join(wrong)


def test_the_core_writes_and_reads_numbers_without_streams():
    """Streams ask the locale, and crash in a module that brings its own copy of the C++ library."""
    wrong = [
        str(path.relative_to(ROOT))
        for path in [*sources("core", ".h", ".cpp"), *sources("bindings", ".h", ".cpp")]
        if re.search(r"std::\w*stream\b|#include <(sstream|fstream|iostream|iomanip)>", path.read_text())
    ]
    assert not wrong, "\n".join(wrong)


def test_the_core_knows_neither_python_nor_torch():
    wrong = [
        str(path.relative_to(ROOT))
        for path in sources("core", ".h", ".cpp")
        if re.search(r"#include <(Python\.h|nanobind|torch|ATen)", path.read_text())
    ]
    assert not wrong, wrong


def test_system_calls_stay_in_base():
    wrong = [
        str(path.relative_to(ROOT))
        for path in sources("core", ".h", ".cpp")
        if path.parent.name != "base" and SYSTEM_CALL_HEADERS.search(path.read_text())
    ]
    assert not wrong, wrong


def test_bindings_use_the_core_and_themselves():
    for path in sources("bindings", ".h", ".cpp"):
        for include in includes(path):
            assert include.split("/")[0] in ("core", "bindings"), f"{path.name} includes {include}"


def test_every_core_source_is_built():
    listed = set(re.findall(r"core/\S+\.cpp", (ROOT / "CMakeLists.txt").read_text()))
    there = {str(path.relative_to(ROOT)) for path in sources("core", ".cpp")}
    assert listed == there


def python_layer(path):
    """The folder of PYTHON_LAYERS that a module is in; 0 for the package itself."""
    first = path.relative_to(ROOT / "python/graphzero").parts[0]
    return PYTHON_LAYERS.index(first) if first in PYTHON_LAYERS else 0


def test_import_graphzero_needs_only_numpy():
    for path in sources("python/graphzero", ".py"):
        if python_layer(path) > 0:
            continue
        for name in imports(ast.parse(path.read_text()), top_level_only=True):
            top = name.split(".")[0]
            assert top in PYTHON_CORE or top in STANDARD_LIBRARY, f"{path.name} imports {name}"


def test_folders_of_the_package_use_only_folders_to_their_left():
    wrong = []
    for path in sources("python/graphzero", ".py"):
        to_the_right = PYTHON_LAYERS[python_layer(path) + 1 :]
        for name in imports(ast.parse(path.read_text()), top_level_only=False):
            if name.startswith(tuple(f"graphzero.{folder}" for folder in to_the_right)):
                wrong.append(f"{path.relative_to(ROOT)} imports {name}")
    assert not wrong, "\n".join(wrong)


def test_the_package_has_no_import_cycle():
    graph = {}
    for path in sources("python/graphzero", ".py"):
        if path.name == "__init__.py":
            continue
        module = "graphzero." + ".".join(path.relative_to(ROOT / "python/graphzero").with_suffix("").parts)
        graph[module] = set(imports(ast.parse(path.read_text()), top_level_only=True))
    state = {}

    def visit(module, trail):
        assert state.get(module) != "open", " → ".join([*trail, module])
        if module in graph and module not in state:
            state[module] = "open"
            for used in graph[module]:
                visit(used, [*trail, module])
            state[module] = "done"

    for module in graph:
        visit(module, [])
