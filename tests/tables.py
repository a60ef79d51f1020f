"""Tables of packages as people have them: text ids, two kinds of node, dates, weights, string labels, splits."""

from dataclasses import dataclass

import numpy as np
import polars as pl

SECTIONS = ["net", "libs", "Doc", "weiß", "python"]
DEPENDS = ("package", "depends", "package")
MAINTAINS = ("maintainer", "maintains", "package")


@dataclass
class PackageTables:
    """Four tables, shuffled."""

    packages: pl.DataFrame
    maintainers: pl.DataFrame
    depends: pl.DataFrame
    maintains: pl.DataFrame

    def settings(self, **sources):
        """What build_dataset takes; ``sources`` replace the frames."""
        of = {name: sources.get(name, getattr(self, name)) for name in self.__annotations__}
        nodes = {
            "package": {
                "source": of["packages"], "id": "name", "label": "section", "split": "split", "features": ["size", "age"],
            },
            "maintainer": {"source": of["maintainers"], "id": "mail"},
        }  # fmt: skip
        edges = {
            DEPENDS: {"source": of["depends"], "src": "a", "dst": "b", "weight": "w", "time": "when"},
            MAINTAINS: {"source": of["maintains"], "src": "mail", "dst": "name"},
        }
        return {"nodes": nodes, "edges": edges}


def package_tables(packages=600, maintainers=60, depends=2500, seed=0):
    """Draw tables; some packages depend on nothing, and some maintainers maintain nothing."""
    rng = np.random.default_rng(seed)
    names = [f"pkg-{key:x}" + ("é" if key % 7 == 0 else "") for key in rng.permutation(10 * packages)[:packages]]
    mails = [f"maintainer{key}@example.org" for key in rng.permutation(maintainers)]
    seconds = rng.integers(1_500_000_000, 1_700_000_000, depends)
    return PackageTables(
        pl.DataFrame(
            {
                "name": names,
                "size": rng.integers(0, 1 << 20, packages) / 64,
                "age": rng.integers(0, 40, packages),
                "section": rng.choice(SECTIONS, packages),
                "split": rng.choice(["train", "valid", "test"], packages, p=[0.6, 0.2, 0.2]),
            }
        ),
        pl.DataFrame({"mail": mails}),
        pl.DataFrame(
            {
                "a": rng.choice(names[: packages * 3 // 4], depends),
                "b": rng.choice(names, depends),
                "w": rng.integers(0, 100, depends) / 8,
                "when": [f"{np.datetime64(int(second), 's')}Z" for second in seconds],
            }
        ),
        pl.DataFrame({"mail": rng.choice(mails[: maintainers // 2], packages), "name": rng.permutation(names)}),
    )
