"""``buckets`` and ``move-buckets``: which servers have which nodes of a graph that is dealt to servers."""

from __future__ import annotations

from typing import Any

import click

from . import options
from .output import print_json, print_pairs, print_table


class _Buckets(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """Numbers and ranges of buckets, such as ``7,20-29``."""

    name = "buckets"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[int]:
        found: list[int] = []
        for part in str(value).split(","):
            first, to, last = part.partition("-")
            if not first.isdecimal() or (to and not last.isdecimal()):
                self.fail(f"{value!r} names no buckets; write 7,20-29 for example", param, ctx)
            found.extend(range(int(first), int(last if to else first) + 1))
        return found


@click.command()
@click.argument("address", metavar="nakshi://HOST:PORT")
@click.option("--node", metavar="ID", help="Tell where this node is.")
@click.option(
    "--share", type=click.IntRange(min=0), metavar="N", help="List the buckets of a share."
)
@options.token_file
@options.ca
@options.as_json
def buckets(
    address: str,
    node: str | None,
    share: int | None,
    token_file: Any,
    ca: str | None,
    as_json: bool,
) -> None:
    """Tell which servers have which of the 1,024 buckets of nodes.

    Nodes are in buckets by a hash of their ids. Each share of a graph that is dealt to servers (nakshi serve
    --replicas) has some of them.
    """
    from ..errors import ParameterError
    from ..remote import connect

    with connect(address, token=options.token(token_file), ca=ca) as graph:
        shares = graph.shares()
        bucket = None if node is None else graph.bucket_of(node)
    if share is not None and share >= len(shares):
        raise ParameterError(f"there is no share {share}; there are {len(shares)}")
    if bucket is not None:
        share = next((at for at, one in enumerate(shares) if bucket in one["buckets"]), None)
        servers = [] if share is None else shares[share]["servers"]
        told = {"bucket": bucket, "share": share, "servers": servers}
        if as_json:
            print_json(told)
        else:
            where = ", ".join(servers) or "all servers"
            print_pairs([("bucket", bucket), ("share", share), ("servers", where)])
    elif as_json:
        print_json({"shares": shares if share is None else [shares[share]]})
    elif share is not None:
        click.echo(",".join(str(bucket) for bucket in shares[share]["buckets"]))
    else:
        rows = [
            [at, len(one["buckets"]), ", ".join(one["servers"])] for at, one in enumerate(shares)
        ]
        print_table(["share", "buckets", "servers"], rows)
        if not shares:
            click.echo("all servers have the whole graph")


@click.command(name="move-buckets")
@click.argument("address", metavar="nakshi://HOST:PORT")
@click.option(
    "--buckets",
    "moved",
    type=_Buckets(),
    required=True,
    metavar="LIST",
    help="Numbers and ranges, such as 7,20-29; nakshi buckets shows them.",
)
@click.option(
    "--to", type=click.IntRange(min=0), required=True, metavar="SHARE", help="Their new share."
)
@options.token_file
@options.ca
@options.as_json
@options.quiet
def move_buckets(
    address: str,
    moved: list[int],
    to: int,
    token_file: Any,
    ca: str | None,
    as_json: bool,
    progress: bool | None,
) -> None:
    """Move buckets of nodes to the servers of another share, while all servers answer.

    After an error, give the same command again: it goes on. It wants the token of an admin.
    """
    from ..remote import connect

    with connect(address, token=options.token(token_file), ca=ca) as graph:
        commit = graph.move_buckets(moved, to, progress=progress)
    if as_json:
        print_json({"commit": commit, "buckets": len(moved), "share": to})
    else:
        click.echo(f"share {to} has {len(moved)} buckets more, from commit {commit} on")
