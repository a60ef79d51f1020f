"""Proves in seconds that an installed graphzero works: files, samples, walks, batches and the command line.

Run it with the Python that graphzero is installed for. It needs what graphzero needs, and runs the example of README.md
as well where PyTorch and PyG are there.
"""

import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile

README = pathlib.Path(__file__).resolve().parents[1] / "README.md"


def library() -> None:
    """Write, mount, sample, walk and load."""
    import graphzero as gz

    gz.write_graph("g.gl", src=[0, 0, 1, 3], dst=[1, 2, 2, 0])
    gz.write_features("x.gd", [[0.0], [1.0], [2.0], [3.0]])
    graph = gz.Graph("g.gl")
    batch = next(iter(gz.Pipeline(graph, [2], [-1], features=gz.FeatureStore("x.gd"))))
    assert batch.sample.node.tolist() == [2, 0, 1], batch.sample.node
    assert batch.node_features["x"].tolist() == [[2.0], [0.0], [1.0]], batch.node_features["x"]
    walk = gz.random_walk(graph, [3], 2, seed=0)
    assert walk[0, :2].tolist() == [3, 0], walk
    print("sampled with graphzero", gz.__version__, "of", gz.__file__)


def commands() -> None:
    """Run the command as it is installed."""
    graphzero = shutil.which("graphzero", path=sysconfig.get_path("scripts"))
    assert graphzero, f"expected the command graphzero in {sysconfig.get_path('scripts')}"
    for line in ("--help", "synth made --preset tiny", "info made", "sample made 0 --seed 0"):
        subprocess.run([graphzero, *line.split()], check=True, stdout=subprocess.DEVNULL)
    print("ran", graphzero)


def readme() -> None:
    """Run the first example of README.md, which trains a model."""
    missing = [name for name in ("torch", "torch_geometric") if importlib.util.find_spec(name) is None]
    if missing:
        print("did not run the example of README.md, which needs", " and ".join(missing))
        return
    example = re.search(r"^```python\n(.*?)^```$", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)[1]
    exec(compile(example, str(README), "exec"), {"__name__": "__main__"})
    print("ran the example of README.md")


def main() -> None:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        os.chdir(folder)
        library()
        commands()
        readme()
        os.chdir(README.parent)


if __name__ == "__main__":
    sys.exit(main())
