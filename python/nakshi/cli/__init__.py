"""The command line, ``nakshi``.

Exit code 0, or one line on standard error and exit code 2 for wrong usage, 130 after Ctrl-C, 1 for
anything else.
Nothing heavy is imported before it is needed: ``nakshi run`` keeps the interpreter's own share of
memory small, so that a memory cap is spent on the graph.

Each command is imported when it is called, so that none waits for the others. ``workloads`` has what
``bench`` measures, ``similarities`` and ``walks`` have more of ``run``, ``options`` what commands share, and
``output`` text and JSON.
"""

from __future__ import annotations

import os
import re
import sys
from importlib import import_module
from typing import NoReturn

import click
from click.shell_completion import shell_complete

__all__ = ["main", "nakshi"]

#: Variable by which the script of a shell asks for completions.
COMPLETE = "_NAKSHI_COMPLETE"


#: The module of each command, and its name there, in the order of a first session.
_PLACES = {
    "import": ("commands", "import_"),
    "info": ("commands", "info"),
    "get": ("queries", "get"),
    "neighbors": ("queries", "neighbors"),
    "degree": ("lookups", "degree"),
    "path": ("lookups", "path"),
    "subgraph": ("lookups", "subgraph"),
    "find": ("queries", "find"),
    "query": ("cypher", "query"),
    "run": ("algorithms", "run"),
    "estimate": ("algorithms", "estimate"),
    "cost": ("commands", "cost"),
    "layout": ("commands", "layout"),
    "cache-plan": ("commands", "cache_plan"),
    "plot": ("plots", "plot"),
    "export": ("commands", "export"),
    "check": ("commands", "check"),
    "backup": ("commands", "backup"),
    "compact": ("commands", "compact"),
    "log": ("logs", "log"),
    "apply": ("logs", "apply"),
    "bench": ("benches", "bench"),
    "generate": ("commands", "generate"),
    "serve": ("servers", "serve"),
    "add-user": ("servers", "add_user"),
    "status": ("servers", "status"),
    "buckets": ("buckets", "buckets"),
    "move-buckets": ("buckets", "move_buckets"),
    "cluster": ("clusters", "cluster"),
    "worker": ("clusters", "worker"),
    "completion": ("completion", "completion"),
}


class _Commands(click.Group):
    """Imports the module of a command when that command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_PLACES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _PLACES:
            return None
        module, name = _PLACES[cmd_name]
        command: click.Command = getattr(import_module(f".{module}", __name__), name)
        return command


def _version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from .. import __version__

        click.echo(f"nakshi {__version__}")
        ctx.exit()


@click.group(
    cls=_Commands, no_args_is_help=False, context_settings={"help_option_names": ["-h", "--help"]}
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
