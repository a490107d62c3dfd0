"""Listing friends from disk, by the order of their blocks (I. Hoque's thesis on Bondhu, chapter 5; IEEE
Internet Computing 2012).

    bench/papers/friends.py --data DIR                       # rutgers89
    bench/papers/friends.py --data DIR --only sizes --users 300

Every user has a block of random bytes, kept in the layout "blocks" in some order of the users; a
request reads the blocks of all friends of a user, or of one, from pages that are cold unless the
figure says otherwise. Writes docs/results/friends.md and friends-*.svg.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import harness
import layouts
import nakshi
import numpy as np
import pyarrow as pa
from harness import pictures, tables
from nakshi.cli import workloads

KIB, MIB = 1 << 10, 1 << 20
SIZES = {"4 B": 4, "40 B": 40, "400 B": 400, "4 KB": 4096, "40 KB": 40 * KIB, "400 KB": 400 * KIB}
#: Most bytes of all blocks together; larger blocks leave room for fewer users.
ROOM = 1 << 30
#: Blocks of more than LARGE bytes are read for FEW users only: a list of friends is megabytes then.
LARGE, FEW = 4096, 100
PARCOM: dict[str, Any] = {"order": "bondhu-parcom", "communities": 64}
ORDERS: dict[str, dict[str, Any]] = {
    "original": {"order": "original"},
    "random": {"order": "random"},
    "ParCom 64": PARCOM,
    "bisection": {"order": "bisection"},
}
COMMUNITIES = [2, 8, 32, 64, 128, 256]
LEVELS = [0, 1, 2, 3]
MODELS = ["uniform", "preferential", "overlap"]
#: Bytes of a block for each friend, where blocks are unequal.
SHARE = 512
FETCHED = {"4 B": 4, "40 B": 40, "400 B": 400, "4 KB": 4096, "40 KB": 40 * KIB}


class Users:
    """The users of a graph and their friendships, in stores of any order and size of blocks."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        source = layouts.Layouts(options.graphs, options.data, options.work, options.threads)
        edges = source.edges()
        both = np.concatenate([edges, edges[:, ::-1]])
        self.edges = np.unique(both[both[:, 0] != both[:, 1]], axis=0)

    def some(self, count: int) -> np.ndarray:
        """Friendships among the first users that a search from the most popular one meets."""
        ends, starts = np.unique(self.edges[:, 0], return_index=True)
        if count >= len(ends):
            return self.edges
        place = {int(user): at for at, user in enumerate(ends)}
        stops = np.append(starts[1:], len(self.edges))
        first = int(ends[np.argmax(stops - starts)])
        met, queue = {first}, [first]
        for user in queue:
            if len(met) >= count:
                break
            at = place[user]
            for friend in self.edges[starts[at] : stops[at], 1].tolist():
                if friend not in met and len(met) < count:
                    met.add(friend)
                    queue.append(friend)
        kept = np.isin(self.edges, np.array(sorted(met))).all(axis=1)
        return self.edges[kept]

    def store(self, sizes: int | Callable[[int], int]) -> Path:
        """A store in the order of the ids. ``sizes`` is the size of a block, or a function of the number of
        friends that returns it."""
        whole = len(np.unique(self.edges))
        edges = self.some(whole if callable(sizes) else max(500, ROOM // sizes))
        ids, friends = np.unique(edges[:, 0], return_counts=True)
        draw = np.random.default_rng(1)
        lengths = [sizes(int(count)) if callable(sizes) else sizes for count in friends]
        blocks = pa.array([draw.bytes(length) for length in lengths], pa.large_binary())
        path = self.options.work / "friends-original.nakshi"
        shutil.rmtree(path, ignore_errors=True)
        nakshi.build(
            path,
            edges=pa.table({"source": edges[:, 0], "target": edges[:, 1]}),
            nodes=pa.table({"id": ids, "data": blocks}),
            properties=True,
            layout="original",
            property_layout="blocks",
            threads=self.options.threads,
            progress=False,
        )
        return path

    def listed(self, original: Path, order: dict[str, Any], **request: Any) -> dict[str, Any]:
        """Measures lists of friends in an order of the store."""
        path = original
        if order["order"] != "original":
            path = self.options.work / "friends-ordered.nakshi"
            shutil.rmtree(path, ignore_errors=True)
            nakshi.open(original).relayout(path, **order, progress=False)
        wanted = {"users": self.options.users, "runs": 6, "property": "data", **request}
        return workloads.friends(str(path), False, **wanted) | {"order": self._order(path)}

    def _order(self, path: Path) -> list[int]:
        """Ids in the order of a store."""
        with nakshi.open(path) as store:
            return [int(id) for id in store.get_node_ids()]


class Study(harness.Study):
    """The page, and the users that its figures share."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.users = Users(options)
        conditions = [
            f"graph: {options.graphs}, {len(np.unique(self.users.edges)):,} users, "
            f"{len(self.users.edges) // 2:,} friendships; from blocks of 40 KB on, only as many "
            f"users as have blocks of {tables.size(ROOM)} in all, 500 at least",
            f"{options.users:,} users, {FEW} where blocks are larger than 4 KB, drawn alike in every order; the least of "
            "6 runs each; one thread, "
            "pages of 4 KiB, O_DIRECT where the file system allows",
            "less: medians over users of the time saved against the other order",
        ]
        title = "Listing friends, by the order of their blocks"
        super().__init__("friends", title, options, conditions)


def less(found: dict[str, Any], other: dict[str, Any]) -> float:
    """Share of the time that a request saves, median over users."""
    return statistics.median(
        1 - a / b for a, b in zip(found["micros"], other["micros"], strict=True)
    )


def told(found: dict[str, Any]) -> list[str]:
    """Median time and mean reads of a request."""
    return [f"{statistics.median(found['micros']):.0f}", f"{statistics.mean(found['reads']):.1f}"]


def by_size(
    study: Study, title: str, sizes: dict[str, int], request: Callable[[Path], Any]
) -> None:
    """A row for each size of blocks."""
    rows, drawn = [], []
    for name, size in sizes.items():
        original = study.users.store(size)
        wanted = request(original)
        if size > LARGE:
            wanted = {**wanted, "users": min(FEW, study.options.users)}
        found = {
            order: study.users.listed(original, how, **wanted) for order, how in ORDERS.items()
        }
        cells = [cell for order in ORDERS for cell in told(found[order])]
        gains = [
            less(found["ParCom 64"], found["original"]),
            less(found["ParCom 64"], found["random"]),
            less(found["bisection"], found["original"]),
        ]
        drawn.append(100 * gains[0])
        rows.append([name, *cells, *[f"{-gain:+.0%}" for gain in gains]])
    head = ["Block", *[f"{order}, {what}" for order in ORDERS for what in ("us", "reads")]]
    head += ["ParCom against original", "against random", "bisection against original"]
    study.section(title, head, rows, "reads: of the first run, mean over users")
    name = title.split(":")[0].lower().replace(" ", "-").replace(".", "-")
    label = "less time than original, %"
    study.picture(pictures.lines, name, list(sizes), {"ParCom": drawn}, label, steps="block")


def sizes(study: Study) -> None:
    """Figure 5.2: size of blocks, cold."""
    by_size(study, "Figure 5.2: size of blocks, cold", SIZES, lambda _: {})


def cached(study: Study) -> None:
    """Figure 5.4: ten successive requests of a user, with a cache of a quarter of the blocks."""

    def request(store: Path) -> dict[str, Any]:
        size = sum(file.stat().st_size for file in store.glob("nodes-*.prop"))
        return {"requests": 10, "memory": 2 * MIB + size // 4, "runs": 3}

    by_size(study, "Figure 5.4: size of blocks, ten requests with a cache", SIZES, request)


def correlation(study: Study) -> None:
    """Figures 5.3 and 5.5: correlation of gains in cost and in time."""
    rows = []
    for name in ("40 B", "4 KB"):
        original = study.users.store(SIZES[name])
        edges = study.users.edges
        for cache in (False, True):
            wanted = {"requests": 10, "memory": 16 * MIB} if cache else {}
            costs, found = [], []
            for order in (ORDERS["original"], PARCOM):
                listed = study.users.listed(original, order, **wanted)
                costs.append(_costs(edges, listed))
                found.append(listed)
            gain = 1 - costs[1] / costs[0]
            time_gain = 1 - np.array(found[1]["micros"]) / np.array(found[0]["micros"])
            ranks = [np.argsort(np.argsort(values)) for values in (gain, time_gain)]
            rank = float(np.corrcoef(*ranks)[0, 1])
            rows.append([f"{name}, {'cache' if cache else 'cold'}", f"{rank:.2f}"])
            if name == "4 KB" and not cache:
                points = {"users": (100 * gain, 100 * time_gain)}
    study.section(
        "Figures 5.3 and 5.5: cost against response time",
        ["Block", "rank correlation"],
        rows,
        "correlation over users between ParCom's gains in linear arrangement and in time, against original",
    )
    label = ("less cost, %", "less time, %")
    study.picture(pictures.points, "figure-5-3", points, *label)


def _costs(edges: np.ndarray, listed: dict[str, Any]) -> np.ndarray:
    """Sums of distances to friends in an order, of the users that were asked for."""
    order = np.array(listed["order"])
    place = np.empty(order.max() + 1, dtype=np.int64)
    place[order] = np.arange(len(order))
    distance = np.abs(place[edges[:, 0]] - place[edges[:, 1]])
    sums = np.bincount(edges[:, 0], weights=distance, minlength=len(place))
    return sums[[int(user) for user in listed["users"]]]


def orders(study: Study) -> None:
    """Figures 5.6 to 5.8: communities, levels, organ pipe; 4 KB as in the thesis."""
    original = study.users.store(SIZES["4 KB"])
    base = study.users.listed(original, ORDERS["original"])
    tried: dict[str, dict[str, Any]] = {
        "random": ORDERS["random"],
        "organ pipe": {"order": "organ-pipe"},
        **{f"ParCom {n}": {"order": "bondhu-parcom", "communities": n} for n in COMMUNITIES},
        **{f"ModCom, level {n}": {"order": "bondhu-modcom", "level": n} for n in LEVELS},
        "bisection": ORDERS["bisection"],
        "Gorder": {"order": "gorder"},
    }
    rows = [["original", *told(base), ""]]
    gains = {}
    for name, order in tried.items():
        found = study.users.listed(original, order)
        gains[name] = less(found, base)
        rows.append([name, *told(found), f"{-gains[name]:+.0%}"])
    study.section(
        "Figures 5.6 to 5.8: orders, blocks of 4 KB, cold",
        ["Order", "us", "reads", "against original"],
        rows,
        "the thesis: ParCom -11 % with 2 communities, -40 % from 32 on; ModCom alike at every level; "
        "organ pipe -10 %",
    )
    values = [100 * gains[f"ParCom {count}"] for count in COMMUNITIES]
    levels = {name: 100 * gains[name] for name in ("organ pipe", "bisection")}
    ticks = list(map(str, COMMUNITIES))
    label = "less time than original, %"
    series = {"ParCom": values}
    study.picture(
        pictures.lines, "figure-5-6", ticks, series, label, steps="communities", levels=levels
    )


def models(study: Study) -> None:
    """Figure 5.9: layouts by one model of requests, requests by another."""
    original = study.users.store(SIZES["4 KB"])
    rows = []
    layouts_ = {"original": ORDERS["original"], **{m: {**PARCOM, "model": m} for m in MODELS}}
    for name, order in layouts_.items():
        cells = []
        for access in MODELS:
            wanted = {"requests": 1000, "runs": 10, "users": min(1000, study.options.users)}
            found = study.users.listed(original, order, access=access, **wanted, memory=4 * MIB)
            cells.append(f"{statistics.median(found['micros']):.2f}")
        rows.append([name, *cells])
    study.section(
        "Figure 5.9: models of layout and of requests, blocks of 4 KB",
        ["ParCom 64 by", *[f"requests {model}, us" for model in MODELS]],
        rows,
        "1,000 users, 1,000 successive requests of one friend each, 4 MiB of memory: mean time of a request",
    )


def unequal(study: Study) -> None:
    """Figure 6 of the article: parts of blocks whose size is in proportion to the number of friends, and
    4 KB of blocks of 4 MB."""
    rows = []
    tried: list[tuple[str, int | Callable[[int], int], dict[str, int]]] = [
        (f"{SHARE} B a friend", lambda friends: SHARE * friends, FETCHED),
        ("4 MB", 4 * MIB, {"4 KB": 4096}),
    ]
    for block, size, fetched in tried:
        original = study.users.store(size)
        for name, part in fetched.items():
            wanted = {"part": part, "users": min(FEW, study.options.users)}
            found = {o: study.users.listed(original, how, **wanted) for o, how in ORDERS.items()}
            gains = [less(found["ParCom 64"], found[other]) for other in ("original", "random")]
            cells = [f"{statistics.median(found[order]['micros']):.0f}" for order in ORDERS]
            rows.append([f"{name} of {block}", *cells, *[f"{-gain:+.0%}" for gain in gains]])
    head = ["Read", *[f"{order}, us" for order in ORDERS]]
    head += ["ParCom against original", "against random"]
    title = "Figure 6 of the article: parts of unequal blocks, and of large ones"
    study.section(title, head, rows, "one friend after the other")


def access(study: Study) -> None:
    """Figures 3.1 and 5.1: offsets on disk of the blocks of friends."""
    original = study.users.store(SIZES["40 KB"])
    wanted = {"users": 150, "runs": 1, "trace": True}
    for name, order in (("3.1: original", ORDERS["original"]), ("5.1: ParCom 64", PARCOM)):
        found = study.users.listed(original, order, **wanted)
        reads = np.array([(at / 1e6, offset / MIB) for _, at, offset, _ in found["trace"]])
        file = "figure-" + name.split(":")[0].replace(".", "-")
        points = {name: (reads[:, 0], reads[:, 1])}
        steps = np.abs(np.diff(reads[:, 1]))
        rows = [[f"{len(reads):,}", f"{steps.mean():.1f}", f"{np.median(steps):.2f}"]]
        head = ["Reads", "mean distance to the last, MiB", "median"]
        study.section(f"Figure {name}, blocks of 40 KB", head, rows)
        study.picture(pictures.points, file, points, "seconds", "offset, MiB")


FIGURES = {
    "sizes": sizes,
    "cached": cached,
    "correlation": correlation,
    "orders": orders,
    "models": models,
    "unequal": unequal,
    "access": access,
}


def main() -> None:
    parser = layouts.parser(__doc__, "rutgers89", repeated=False, parts=FIGURES)
    parser.add_argument("--users", type=int, default=1500, help="default: %(default)s")
    Study(harness.study.options(parser)).measure(FIGURES)


if __name__ == "__main__":
    main()
