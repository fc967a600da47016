"""`python -m groove_daemon` is `grooved`."""

import sys

from groove_daemon.cli import main

if __name__ == "__main__":
    sys.exit(main())
