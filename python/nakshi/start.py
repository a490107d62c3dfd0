"""The beginning of the command line: Ctrl-C has one line for an answer while modules are loaded, too."""

from __future__ import annotations

import os
import signal
from types import FrameType
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line and exit; console script ``nakshi``."""
    handler = signal.getsignal(signal.SIGINT)
    # A signal that whoever began the process ignores stays ignored.
    if handler is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupted)
    from .cli import main as run

    signal.signal(signal.SIGINT, handler)
    run()


def _interrupted(number: int, frame: FrameType | None) -> NoReturn:
    os.write(2, b"nakshi: interrupted\n")
    os._exit(130)
