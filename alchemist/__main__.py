"""`python -m alchemist`."""

import sys

from alchemist.cli import main

sys.exit(main())
