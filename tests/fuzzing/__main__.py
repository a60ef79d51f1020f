"""Mutates files and reads them, in processes of their own.

``python tests/fuzzing --count 200000 --jobs 16`` runs all kinds, prints a table and fails if a file did.
``python tests/fuzzing KIND SEED NUMBER`` runs one mutation again, here, with its traceback.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))  # this folder, as a package, and the modules beside it

from fuzzing.command import main

if __name__ == "__main__":
    sys.exit(main())
