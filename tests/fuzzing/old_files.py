"""``.gl`` and ``.gd`` files of GraphZero 0.2, which have no checksums."""

from pathlib import Path

import files
import graphzero as gz
import proofs
from fuzzing import features, graphs
from fuzzing.opening import Format, Originals

SAMPLES = Path(__file__).parent.parent / "data" / "graphzero02"
FORMATS = [
    Format(b"graphlit", gz.Graph, files.read_graphzero02_gl, proofs.holds, graphs.compare),
    Format(b"GZDATA26", gz.FeatureStore, files.read_graphzero02_gd, proofs.holds, features.compare),
]


class Target(Originals):
    """Files that GraphZero 0.2 wrote."""

    def __init__(self, folder):
        paths = [path for path in sorted(SAMPLES.iterdir()) if path.suffix in (".gl", ".gd")]
        super().__init__(folder, [path.read_bytes() for path in paths], FORMATS)
