"""The command line, ``nakshi``.

Exit code 0, or one line on standard error and exit code 2 for wrong usage, 130 after Ctrl-C, 1 for
anything else.
Nothing heavy is imported before it is needed: ``nakshi run`` keeps the interpreter's own share of
memory small, so that a memory cap is spent on the graph.

Inside: ``commands`` (import, info, check, backup, compact, cost, layout, cache-plan, export, generate),
``plots`` (plot), ``algorithms`` (run, estimate), ``servers`` (serve, add-user, status), ``clusters`` (cluster,
worker), ``queries`` (get, neighbors, find), ``cypher`` (query), ``benches`` (bench) on ``workloads``, ``lookups``
(degree, path, subgraph), ``similarities`` and ``walks`` (more of run), ``logs`` (log, apply),
``completion``, ``options`` (what they share), ``output`` (text, JSON).
"""

from __future__ import annotations

import os
import re
import sys
from typing import NoReturn

import click
from click.shell_completion import shell_complete

from .algorithms import estimate, run
from .benches import bench
from .clusters import cluster, worker
from .commands import (
    backup,
    cache_plan,
    check,
    compact,
    cost,
    export,
    generate,
    import_,
    info,
    layout,
)
from .completion import completion
from .cypher import query
from .logs import apply, log
from .lookups import degree, path, subgraph
from .plots import plot
from .queries import find, get, neighbors
from .servers import add_user, serve, status
from .similarities import commands as similarities
from .walks import node2vec, random_walks

__all__ = ["main", "nakshi"]

#: Variable by which the script of a shell asks for completions.
COMPLETE = "_NAKSHI_COMPLETE"


class _Group(click.Group):
    """Lists the commands in the order of a first session instead of the alphabet."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


def _version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from .. import __version__

        click.echo(f"nakshi {__version__}")
        ctx.exit()


@click.group(
    cls=_Group, no_args_is_help=False, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_version,
    help="Show the version and exit.",
)
def nakshi() -> None:
    """Graphs larger than memory: import them once, analyse them from disk.

    \b
    nakshi import edges.tsv graph.nakshi --memory 1GiB
    nakshi run pagerank graph.nakshi --memory 256MiB --out ranks.tsv
    """


for _command in (
    import_,
    info,
    get,
    neighbors,
    degree,
    path,
    subgraph,
    find,
    query,
    run,
    estimate,
    cost,
    layout,
    cache_plan,
    plot,
    export,
    check,
    backup,
    compact,
    log,
    apply,
    bench,
    generate,
    serve,
    add_user,
    status,
    cluster,
    worker,
    completion,
):
    nakshi.add_command(_command)
for _command in (*similarities(), random_walks, node2vec):
    run.add_command(_command)


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and exit."""
    # OpenBLAS, which NumPy imports, would start a thread for each processor. No command uses them, and
    # a thread that cannot start ends the process with a signal.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.exit(_status(arguments))


def _status(arguments: list[str] | None) -> int:
    from ..errors import MORE_PROCESSES, BudgetError, NakshiError, is_thread_refused

    try:
        # `nakshi.main` would print an empty line at Ctrl-C.
        words = list(sys.argv[1:] if arguments is None else arguments)
        asked = os.environ.get(COMPLETE)
        if asked:
            return shell_complete(nakshi, {}, "nakshi", COMPLETE, asked)
        with nakshi.make_context("nakshi", words) as context:
            outcome = nakshi.invoke(context)
        sys.stdout.flush()
        return outcome if isinstance(outcome, int) else 0
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.UsageError as error:
        hint = f" (see '{error.ctx.command_path} --help')" if error.ctx is not None else ""
        return _fail(error.format_message().rstrip(".") + hint, 2)
    except click.ClickException as error:
        return _fail(error.format_message(), 1)
    except (click.Abort, KeyboardInterrupt):
        # As shells have it: 128 and the number of the signal.
        return _fail("interrupted", 130)
    except BrokenPipeError:
        # The reader has what it wants (as in `nakshi ... | head`): the end, not an error. Keep the
        # interpreter from trying to flush once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except BudgetError as error:
        return _fail(as_option(str(error)), 1)
    except NakshiError as error:
        return _fail(str(error), 1)
    except RuntimeError as error:
        if not is_thread_refused(error):
            return _unexpected(error)
        return _fail(f"a thread could not be started; {MORE_PROCESSES}", 1)
    except Exception as error:
        return _unexpected(error)


def as_option(message: str) -> str:
    """An error with its remedy as an option: ``--memory 32MiB`` for ``memory="32MiB"``."""
    return re.sub(r'\bmemory="([^"]+)"', r"--memory \1", message)


def _unexpected(error: Exception) -> int:
    if os.environ.get("NAKSHI_DEBUG"):
        raise error
    kind = type(error).__name__
    return _fail(f"{kind}: {error} (set NAKSHI_DEBUG=1 for the place)", 1)


def _fail(message: str, status: int) -> int:
    click.echo(f"nakshi: {' '.join(message.split())}", err=True)
    return status
