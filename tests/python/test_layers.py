"""Data flows one way: every include and import points to the left of its own folder."""

import ast
import pathlib
import re

import pytest

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
SYSTEM_CALL_HEADERS = re.compile(r"#include <(sys/|fcntl|unistd|dirent|sched|signal|pthread|linux/|mach/|windows)")
SYSTEMS = re.compile(
    r"^#\s*(if|elif|ifdef|ifndef).*(_WIN32|__linux__|__APPLE__|_MSC_VER|__MINGW|__unix__)", re.MULTILINE
)
# Modules and names of modules that Windows has not.
POSIX_MODULES = {"fcntl", "grp", "nis", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"}
POSIX_NAMES = {
    "os": {
        *("fork", "forkpty", "geteuid", "getuid", "getgid", "killpg", "major", "minor", "mkfifo", "nice", "pread"),
        *("preadv", "pwrite", "pwritev", "posix_fadvise", "fdatasync", "register_at_fork", "sched_getaffinity"),
        *("sched_setaffinity", "setsid", "statvfs", "sysconf", "uname", "wait", "waitpid", "O_DIRECT", "O_DIRECTORY"),
        *("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_TMPFILE"),
    },
    "signal": {"SIGKILL", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGPIPE", "SIGQUIT", "setitimer", "pthread_kill"},
}
# import graphzero loads these and nothing else from outside the standard library.
PYTHON_CORE = {"graphzero", "numpy"}
# Modules and folders of the package, from left to right: each may use its own row and those above it.
PYTHON_LAYERS = [
    ["_base"],
    ["_files"],
    ["_look"],
    ["graph", "features", "row_order", "ids", "memory", "threads"],
    ["_dataset"],
    ["dataset"],
    ["_inputs"],
    ["sampling", "walks", "negatives", "pipeline", "dgl_blocks", "verification", "staging"],
    ["convert"],
    ["synth"],
    ["loaders"],
    ["train"],
    ["_tools"],
    ["bench"],
    ["demo"],
    ["cli"],
    ["__main__"],
]
# The same inside folders that are large enough to have a direction of their own.
FOLDER_LAYERS = {
    "convert": [
        ["text", "arrow_files", "stored", "row_writer", "label_lookup", "step_files"],
        ["edge_sources", "row_sources"],
        ["edge_feeds"],
        ["edge_labels", "edge_options", "conversion_report", "feature_report"],
        ["row_conversion"],
        ["feature_request"],
        ["_shards"],
        ["sharded", "sharded_features"],
        ["ray_engine"],
        ["engines"],
        ["edges", "features", "estimate"],
        ["dataset_draft"],
        ["dataset_writer", "dataset_editor", "layouts"],
        ["dataset", "tables"],
    ],
    "loaders": [
        ["_process", "options"],
        ["_exchange"],
        ["_batch"],
        ["_data"],
        ["pyg", "_device"],
        ["_epoch"],
        ["loader", "_embedding", "_inference"],
        ["neighbor", "link", "layerwise", "node2vec", "metapath2vec", "random_walks"],
        ["lightning"],
    ],
}
# Methods that 0.2 had: they lead to the right, when they are called.
METHODS_OF_02 = {("python/graphzero/graph.py", "graphzero.walks")}
FIRST_THAT_NEEDS_TORCH = "loaders"
STANDARD_LIBRARY = __import__("sys").stdlib_module_names


def sources(folder, *endings):
    return sorted(path for path in (ROOT / folder).rglob("*") if path.suffix in endings)


def includes(path):
    return re.findall(r'^#include "([^"]+)"', path.read_text(), re.MULTILINE)


def is_for_types_only(node):
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


def statements(node, top_level_only):
    """What runs: not what is there for type checkers."""
    for child in ast.iter_child_nodes(node):
        if is_for_types_only(child):
            continue
        yield child
        if not top_level_only:
            yield from statements(child, top_level_only)


def imports(tree, top_level_only):
    for node in statements(tree, top_level_only):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names if node.module.startswith("graphzero"))


def test_core_folders_use_only_folders_to_their_left():
    wrong = []
    for path in sources("core", ".h", ".cpp"):
        own = path.relative_to(ROOT / "core").parts[0]
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


def test_numbers_are_parsed_in_base_alone():
    """The C++ library of macOS has std::from_chars for integers only; and what C has for others asks the locale."""
    own = "core/base/parse_number.h"
    wrong = [
        f"{path.relative_to(ROOT)}: {call}: call parse_number(), of {own}"
        for path in [*sources("core", ".h", ".cpp"), *sources("bindings", ".h", ".cpp")]
        for call in re.findall(
            r"\b(?:std::from_chars\(|(?:std::|::)?(?:strto[a-z]+|ato[a-z]+|sto[dfil]+)\()", path.read_text()
        )
        if path.name not in ("parse_number.h", "parse_number.cpp")
    ]
    assert not wrong, "\n".join(wrong)


def test_files_get_their_names_through_one_module_that_tries_again():
    """Windows keeps files for a moment that a virus scanner reads."""
    wrong = [
        str(path.relative_to(ROOT))
        for path in sources("python/graphzero", ".py")
        if path.name != "renames.py" and re.search(r"\bos\.(rename|replace|renames)\(", path.read_text())
    ]
    assert not wrong, wrong


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
        if path.relative_to(ROOT / "core").parts[0] != "base" and SYSTEM_CALL_HEADERS.search(path.read_text())
    ]
    assert not wrong, wrong


def test_systems_are_told_apart_in_base_alone():
    """A file is chosen by CMake. What is left is in core/base/posix, for two systems that hardly differ."""
    wrong = [
        str(path.relative_to(ROOT))
        for path in [*sources("core", ".h", ".cpp"), *sources("bindings", ".h", ".cpp")]
        if path.parent != ROOT / "core/base/posix" and SYSTEMS.search(path.read_text())
    ]
    assert not wrong, wrong


def test_files_of_a_system_are_included_by_that_system_alone():
    folders = {"linux": {"linux", "posix"}, "macos": {"macos", "posix"}, "posix": {"posix"}, "windows": {"windows"}}
    wrong = []
    for path in [*sources("core", ".h", ".cpp"), *sources("bindings", ".h", ".cpp")]:
        for include in includes(path):
            system = re.match(r"core/base/(\w+)/", include)
            if system and system[1] not in folders.get(path.parent.name, set()):
                wrong.append(f"{path.relative_to(ROOT)} includes {include}")
    assert not wrong, "\n".join(wrong)


def test_every_system_has_the_same_files():
    """What Linux gets from its own folder and from posix/ the others get from theirs."""
    names = {
        system: {path.stem for path in sources(f"core/base/{system}", ".cpp")}
        for system in ("linux", "macos", "posix", "windows")
    }
    assert names["linux"] == names["macos"]
    of_posix = names["linux"] | names["posix"]
    assert of_posix - {"unlinked_file"} == names["windows"] - {"system_error"}


def test_bindings_use_the_core_and_themselves():
    for path in sources("bindings", ".h", ".cpp"):
        for include in includes(path):
            assert include.split("/")[0] in ("core", "bindings"), f"{path.name} includes {include}"


def test_every_core_source_is_built():
    listed = set(re.findall(r"core/\S+\.cpp", (ROOT / "CMakeLists.txt").read_text()))
    there = {str(path.relative_to(ROOT)) for path in sources("core", ".cpp")}
    assert listed == there


def row_of(name, layers):
    """The number of the row that a module is in; of the package itself, which loads them all, and of none: None."""
    return next((number for number, row in enumerate(layers) if name in row), None)


def test_import_graphzero_needs_only_numpy():
    torch_row = row_of(FIRST_THAT_NEEDS_TORCH, PYTHON_LAYERS)
    for path in sources("python/graphzero", ".py"):
        row = row_of(path.relative_to(ROOT / "python/graphzero").with_suffix("").parts[0], PYTHON_LAYERS)
        if row is not None and row >= torch_row:
            continue
        for name in imports(ast.parse(path.read_text()), top_level_only=True):
            top = name.split(".")[0]
            assert top in PYTHON_CORE or top in STANDARD_LIBRARY, f"{path.name} imports {name}"


def test_no_module_needs_a_posix_system_to_be_imported():
    """What Windows has not is imported or named inside a function, or behind a question about the system."""

    def runs_at_import(node):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) or is_for_types_only(child):
                continue
            if isinstance(child, ast.If) and "platform" in ast.dump(child.test):
                continue
            yield child
            yield from runs_at_import(child)

    wrong = []
    for path in sources("python/graphzero", ".py"):
        for node in runs_at_import(ast.parse(path.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names if alias.name in POSIX_MODULES]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                posix = POSIX_NAMES.get(node.module, set())
                names = [node.module] if node.module in POSIX_MODULES else []
                names += [f"{node.module}.{alias.name}" for alias in node.names if alias.name in posix]
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                names = [f"{node.value.id}.{node.attr}"] if node.attr in POSIX_NAMES.get(node.value.id, set()) else []
            wrong += [f"{path.relative_to(ROOT)}:{node.lineno} needs {name}" for name in names]
    assert not wrong, "\n".join(wrong)


def test_every_module_has_a_place():
    for folder, layers in {"": PYTHON_LAYERS, **FOLDER_LAYERS}.items():
        there = {
            path.stem
            for path in (ROOT / "python/graphzero" / folder).iterdir()
            if path.suffix == ".py" or (path / "__init__.py").exists()
        }
        assert there - {"__init__"} == {name for row in layers for name in row}, folder


@pytest.mark.parametrize("folder", ["", *FOLDER_LAYERS])
def test_every_import_points_to_the_left(folder):
    layers = FOLDER_LAYERS.get(folder, PYTHON_LAYERS)
    home = ROOT / "python/graphzero" / folder
    prefix = "graphzero." + (f"{folder}." if folder else "")
    wrong = []
    for path in sources(home.relative_to(ROOT), ".py"):
        own = row_of(path.relative_to(home).with_suffix("").parts[0], layers)
        if own is None:
            continue
        for name in imports(ast.parse(path.read_text()), top_level_only=False):
            used = row_of(name.removeprefix(prefix).split(".")[0], layers) if name.startswith(prefix) else None
            where = str(path.relative_to(ROOT))
            allowed = any(where == by and name.startswith(module) for by, module in METHODS_OF_02)
            if used is not None and used > own and not allowed:
                wrong.append(f"{where} imports {name}")
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
