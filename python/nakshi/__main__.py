"""``python -m nakshi`` is the command line."""

from .cli import main

main()
