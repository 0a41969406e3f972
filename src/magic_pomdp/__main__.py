"""`python -m magic_pomdp` is the command line."""

import sys

if not sys.flags.safe_path:
    del sys.path[0]  # Python looks in the present folder first: a file there would take the place of a library

from magic_pomdp.cli import main

sys.exit(main())
