"""Processes that a process of this package starts, and that end with it."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Sequence

from .errors import MORE_PROCESSES, StorageError, is_thread_refused


def start_child(command: Sequence[str], *, stderr: int | None = None) -> subprocess.Popen[str]:
    """Start a process with pipes for its standard input and output.

    Its standard input ends when this process ends, however it ends. It has a session of its own, so that
    Ctrl-C reaches this process only, which ends it.

    Raises:
        BlockingIOError: the system starts no more processes.
    """
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        start_new_session=True,
    )


def end_with_input() -> None:
    """Have this process end at the end of its standard input, as when its parent has ended.

    Raises:
        StorageError: no thread could be started.
    """
    try:
        threading.Thread(target=_end_at_eof, daemon=True).start()
    except RuntimeError as error:
        if not is_thread_refused(error):
            raise
        raise StorageError(f"a thread could not be started; {MORE_PROCESSES}") from None


def _end_at_eof() -> None:
    while os.read(0, 4096):
        pass
    os._exit(1)


def signal_name(number: int) -> str:
    """The name of a signal."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
