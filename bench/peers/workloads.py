"""One property graph on one peer: ``python workloads.py PEER WHAT HOME [name=value ...]``.

WHAT is ``load``, ``answers``, ``change``, ``workload`` or ``linkbench``. Reads the files of
``nakshi export --neo4j``. Runs in the peers' own environment, never in the product's; the last line
that it prints is JSON, in the form of ``nakshi bench --json``.
"""

from __future__ import annotations

import bisect
import csv
import itertools
import json
import random
import shutil
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow.csv as tables
from databases import Duckdb, Ladybug

LIMIT = 1000
TAO = {
    "assoc_range": 40.8,
    "obj_get": 28.8,
    "assoc_get": 15.7,
    "assoc_count": 11.7,
    "assoc_time_range": 2.8,
    "one property": 0.0,
}
SEARCH = dict.fromkeys(
    [
        "GS1 friends",
        "GS2 friends with a value",
        "GS3 nodes with two values",
        "GS4 friends by a type",
        "GS5 data of a type",
    ],
    20.0,
)
#: LinkBench's numbers; crates/nakshi-workloads/src/changes.rs explains them.
LINKBENCH = {
    "get_link_list": 50.7119145,
    "get_node": 12.9326683,
    "add_link": 8.9886601,
    "update_link": 8.0122125,
    "update_node": 7.366437,
    "count_links": 4.8863567,
    "delete_link": 2.9907664,
    "add_node": 2.5732789,
    "delete_node": 1.0115914,
    "multiget_link": 0.5261142,
}
READ, WRITE, NODE_READ, NODE_WRITE = 0.8, 0.741, 0.625, 0.606
LINKS, HISTORY = 10_000, 0.003


class Loaded:
    """The loaded graph in memory, for draws: nodes with properties, and lists of edges."""

    def __init__(self, files):
        self.files = files
        read = tables.read_csv(files / "relationships.csv")
        self.types = sorted(read.column(":TYPE").unique().to_pylist())
        codes = {type: code for code, type in enumerate(self.types)}
        start, end = (read.column(name).to_numpy() for name in (":START_ID", ":END_ID"))
        times = read.column("timestamp:long").to_numpy()
        named = read.column(":TYPE").combine_chunks().dictionary_encode()
        of_named = np.array([codes[name] for name in named.dictionary.to_pylist()])
        type = of_named[named.indices.to_numpy()]
        order = np.lexsort((times, type, start))
        self.ends, self.times = end[order], times[order]
        keys = start[order] * len(self.types) + type[order]
        lists, first = np.unique(keys, return_index=True)
        bounds = zip(first.tolist(), [*first[1:].tolist(), len(keys)])
        self.lists = dict(zip(lists.tolist(), bounds))
        ids = tables.read_csv(
            files / "nodes.csv",
            convert_options=tables.ConvertOptions(include_columns=["id:ID"]),
        )
        self.ids = ids.column(0).to_pylist()

    def values(self):
        """Properties of all nodes: a table."""
        table = tables.read_csv(self.files / "nodes.csv").drop_columns(["id:ID", ":LABEL"])
        return table.rename_columns([name.split(":")[0] for name in table.column_names])

    def list(self, id, type):
        """Range of the list's edges in ``ends`` and ``times``."""
        return self.lists.get(id * len(self.types) + type, (0, 0))


class Draw:
    """Queries by the rules of ``nakshi bench``, drawn before the clock starts."""

    def __init__(self, loaded, seed):
        self.loaded, self.random = loaded, random.Random(seed)
        self.table = loaded.values()

    def list(self):
        while True:
            id = self.random.choice(self.loaded.ids)
            type = self.random.randrange(len(self.loaded.types))
            first, last = self.loaded.list(id, type)
            if last > first:
                return id, self.loaded.types[type], first, last

    def values(self):
        at = self.random.randrange(len(self.loaded.ids))
        names = [self.random.choice(self.table.column_names) for _ in range(2)]
        return self.loaded.ids[at], [(name, self.table[name][at].as_py()) for name in names]

    def query(self, name):
        """A function of a client that returns a number of results."""
        if name == "obj_get":
            id = self.random.choice(self.loaded.ids)
            return lambda client: len(client.object(id) or ())
        if name == "one property":
            id, [(name, _), _] = self.values()
            return lambda client: client.one(id, name)
        if name == "GS3 nodes with two values":
            _, [(a, x), (b, y)] = self.values()
            return lambda client: len(client.find(a, x, b, y))
        id, type, first, last = self.list()
        if name == "assoc_range":
            return lambda client: len(client.edges(id, type, limit=LIMIT))
        if name == "assoc_get":
            ends = self.loaded.ends[first:last].tolist()
            ends = [end for end in ends if self.random.random() < 0.5]
            return lambda client: len(client.edges(id, type, ends=ends))
        if name == "assoc_count":
            return lambda client: client.count(id, type)
        if name == "assoc_time_range":
            oldest, newest = (int(self.loaded.times[at]) for at in (first, last - 1))
            span = max(1, newest - oldest)
            low, high = sorted(oldest + self.random.randrange(span) for _ in range(2))
            return lambda client: len(client.edges(id, type, limit=LIMIT, low=low, high=high))
        if name == "GS1 friends":
            return lambda client: len(client.friends(id))
        if name == "GS2 friends with a value":
            _, [value, _] = self.values()
            return lambda client: len(client.friends(id, value=value))
        if name == "GS4 friends by a type":
            return lambda client: len(client.friends(id, type))
        return lambda client: len(client.edges(id, type))


def measured(name, times, results, seconds):
    """A class of queries, by the seconds of each."""
    times = sorted(times)

    def quantile(part):
        return times[min(len(times) - 1, int(len(times) * part))] * 1e6 if times else 0.0

    return {
        "name": name,
        "results": results / max(1, len(times)),
        "rate": len(times) / seconds,
        "p50": quantile(0.5),
        "p99": quantile(0.99),
        "p999": quantile(0.999),
    }


def workload(graph, options):
    """Each class alone on one thread, then the mix on all."""
    draw, shares = Draw(Loaded(options["files"]), options["seed"]), SEARCH
    if options["mix"] == "tao":
        shares = TAO
    queries, classes, client = options["queries"], [], graph.client()
    for name in shares:
        drawn = [draw.query(name) for _ in range(queries)]
        for query in drawn[: queries // 10]:
            query(client)
        times, results = [], 0
        began = time.perf_counter()
        for query in drawn:
            start = time.perf_counter()
            results += query(client)
            times.append(time.perf_counter() - start)
        classes.append(measured(name, times, results, time.perf_counter() - began))
    whole, drawn = sum(shares.values()), []
    for name, share in shares.items():
        drawn += [draw.query(name) for _ in range(round(queries * share / whole))]
    draw.random.shuffle(drawn)
    left = iter(drawn)

    def work(number):
        client = graph.client()
        for query in left:
            query(client)

    seconds = together(work, options["threads"])
    return {"classes": classes, "seconds": seconds, "rate": len(drawn) / seconds}


def together(work, threads):
    """Seconds that all threads take; raises the exception of a thread that fails."""
    failed = []

    def guarded(number):
        try:
            work(number)
        except Exception as error:
            failed.append(error)

    all = [threading.Thread(target=guarded, args=[number]) for number in range(threads)]
    began = time.perf_counter()
    for thread in all:
        thread.start()
    for thread in all:
        thread.join()
    if failed:
        raise failed[0]
    return time.perf_counter() - began


class Linkbench:
    """LinkBench's mix as in crates/nakshi-workloads/src/changes.rs; the links to be changed are drawn from
    those that were loaded, without a question to the peer."""

    def __init__(self, loaded, seed):
        self.loaded, self.ids = loaded, list(loaded.ids)
        random.Random(seed).shuffle(self.ids)
        self.laws = {
            exponent: np.cumsum(np.arange(1, len(self.ids) + 1) ** -exponent).tolist()
            for exponent in (READ, WRITE, NODE_READ, NODE_WRITE)
        }
        self.bounds = list(itertools.accumulate(LINKBENCH.values()))
        self.added = itertools.count((1 << 62) + (seed << 32))

    def node(self, draw, exponent):
        law = self.laws[exponent]
        return self.ids[min(bisect.bisect(law, draw.random() * law[-1]), len(law) - 1)]

    def request(self, client, draw):
        """Makes a request; returns its name and its number of results."""
        at = bisect.bisect(self.bounds, draw.random() * self.bounds[-1])
        name = list(LINKBENCH)[min(at, len(LINKBENCH) - 1)]
        type = draw.randrange(len(self.loaded.types))
        label = self.loaded.types[type]
        if name == "get_node":
            return name, len(client.object(self.node(draw, NODE_READ)) or ())
        if name == "add_node":
            return name, client.append_node(next(self.added), letters(draw, 128))
        if name == "update_node":
            return name, client.update_node(self.node(draw, NODE_WRITE), letters(draw, 128))
        if name == "delete_node":
            return name, client.delete_node(draw.choice(self.ids))
        if name in ("get_link_list", "count_links", "multiget_link"):
            id = self.node(draw, READ)
            if name == "count_links":
                return name, client.count(id, label)
            if name == "multiget_link":
                ends = [self.node(draw, READ) for _ in range(2)]
                return name, len(client.edges(id, label, ends=ends))
            first, last = self.loaded.list(id, type)
            if last > first and draw.random() < HISTORY:
                high = int(self.loaded.times[(first + last) // 2])
                return name, len(client.edges(id, label, limit=LINKS, low=-(2**62), high=high))
            return name, len(client.edges(id, label, limit=LINKS))
        source = self.node(draw, WRITE)
        first, last = self.loaded.list(source, type)
        if name == "add_link" or last == first:
            end = self.node(draw, WRITE)
        else:
            end = int(self.loaded.ends[draw.randrange(first, last)])
        if name == "delete_link":
            return name, client.delete_edge(source, label, end)
        time = draw.randrange(1 << 40)
        return name, client.append_edge(source, label, end, time, letters(draw, 8))


def letters(draw, count):
    return "".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=count))


def linkbench(graph, options):
    """The mix on all threads; every change is a durable transaction of its own."""
    bench = Linkbench(Loaded(options["files"]), options["seed"])
    left = iter(range(options["queries"]))
    times = {name: [] for name in LINKBENCH}
    results = dict.fromkeys(LINKBENCH, 0)
    lock = threading.Lock()

    def work(number):
        client, draw = graph.client(), random.Random(options["seed"] * 1000 + number)
        for _ in left:
            began = time.perf_counter()
            name, count = bench.request(client, draw)
            took = time.perf_counter() - began
            with lock:
                times[name].append(took)
                results[name] += count

    seconds = together(work, options["threads"])
    classes = [measured(name, times[name], results[name], seconds) for name in LINKBENCH]
    return {"classes": classes, "seconds": seconds, "rate": options["queries"] / seconds}


def answers(graph, options):
    """Answers that are compared before anything is timed."""
    client, found = graph.client(), []
    for id in map(int, options["ids"].split(",")):
        object = client.object(id)
        if object is None:
            found.append(None)
            continue
        answer = {"object": object, "friends": client.friends(id), "found": []}
        two = sorted(object)[:2]
        if len(two) == 2:
            answer["found"] = client.find(two[0], object[two[0]], two[1], object[two[1]])
        types = options["types"].split(",")
        answer["lists"] = {type: client.edges(id, type) for type in types}
        found.append(answer)
    return found


def change(graph, options):
    """Makes the changes of a file; each line has the name of a change and its arguments."""
    client = graph.client()
    with open(options["changes"]) as lines:
        for name, *words in csv.reader(lines, delimiter="\t"):
            values = [int(word) if word.isdigit() else word for word in words]
            getattr(client, name)(*values)
    return {}


PEERS = {"duckdb": Duckdb, "ladybug": Ladybug}


def main() -> None:
    peer, what, home = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    options = dict(word.split("=", 1) for word in sys.argv[4:])
    for name in ("queries", "threads", "seed"):
        options[name] = int(options.get(name, "1"))
    options["files"] = Path(options.get("files", "."))
    if what == "load":
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
    began = time.perf_counter()
    graph = PEERS[peer](home, options["threads"])
    if what == "load":
        found = graph.load(options["files"])
        graph.close()
        found["seconds"] = time.perf_counter() - began
    else:
        calls = {"answers": answers, "change": change, "workload": workload, "linkbench": linkbench}
        found = calls[what](graph, options)
        graph.close()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
