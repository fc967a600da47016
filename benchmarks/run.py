"""Measure everything and print one table; `--only` takes parts by name.

The figures also go to `benchmarks/results/latest.json`.
"""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent)

from benchmarks.parts import main  # noqa: E402 (the path has to be set first)

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
