"""`python -m groove_client` is `groovectl`."""

import sys

from groove_client.cli import main

sys.exit(main())
