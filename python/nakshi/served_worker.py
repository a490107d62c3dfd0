"""A worker of a run on the servers of all shares of a graph, with the part of the graph that its server has written.

The server starts ``python -m nakshi.served_worker HOST`` with the part as its standard input and the secret of the
run in a variable; see ``crates/nakshi-server/src/work.rs``.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from contextlib import suppress

from . import _core, errors

#: Seconds between two looks at whether the server still runs.
_LOOK = 0.5
#: The standard input once more: it is a file, of which several threads read pieces.
_PART = "/proc/self/fd/0"


def _end_with(server: int) -> None:
    while os.getppid() == server:
        time.sleep(_LOOK)
    os._exit(1)


def _ready(address: str, _: str | None) -> None:
    print(json.dumps({"address": address}), flush=True)


def main() -> None:
    host = sys.argv[1]
    token = os.environ.pop("NAKSHI_WORKER_TOKEN")
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    listen = f"[{host}]:0" if ":" in host else f"{host}:0"
    # The front-end of the run learns of a failure.
    with suppress(errors.NakshiError, KeyboardInterrupt):
        _core.serve(listen, _ready, once=True, token=token.encode(), part=_PART)


if __name__ == "__main__":
    main()
