"""`python -m magic_pomdp` is the command line."""

import sys

from magic_pomdp.cli import main

sys.exit(main())
