"""The beginning of the command line: Ctrl-C has one line for an answer while modules are loaded, too."""

from __future__ import annotations

import os
import signal
from types import FrameType
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line and exit; console script ``nakshi``."""
    # A signal that whoever began the process ignores stays ignored.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupted)
    from .cli import main as run

    if signal.getsignal(signal.SIGINT) is _interrupted:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    run()


def _interrupted(number: int, frame: FrameType | None) -> NoReturn:
    os.write(2, b"nakshi: interrupted\n")
    os._exit(130)
