"""``python -m nakshi`` is the command line."""

from .start import main

main()
