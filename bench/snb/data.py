"""The tables of LDBC's Social Network Benchmark, interactive v1, as its generator writes them.

The archive has CSV files with `|` between the columns, the parameters of the queries, and the
streams of updates. Names of labels, types and properties follow the benchmark's specification,
with types in capital letters as Cypher writes them.
"""

from __future__ import annotations

import csv
import io
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

#: Columns that are numbers; all others are texts.
NUMBERS = {
    *("id", "birthday", "creationDate", "joinDate", "length", "workFrom", "classYear"),
}
#: Columns that are lists of texts.
LISTS = {"language": "speaks", "email": "email"}
#: Labels of the nodes of a file; places and organisations have one more by their kind.
LABELS = {
    "comment": ["Comment", "Message"],
    "post": ["Post", "Message"],
    "person": ["Person"],
    "forum": ["Forum"],
    "place": ["Place"],
    "organisation": ["Organisation"],
    "tag": ["Tag"],
    "tagclass": ["TagClass"],
}
TYPES = {
    "isLocatedIn": "IS_LOCATED_IN",
    "hasCreator": "HAS_CREATOR",
    "hasTag": "HAS_TAG",
    "replyOf": "REPLY_OF",
    "containerOf": "CONTAINER_OF",
    "hasMember": "HAS_MEMBER",
    "hasModerator": "HAS_MODERATOR",
    "hasInterest": "HAS_INTEREST",
    "knows": "KNOWS",
    "likes": "LIKES",
    "studyAt": "STUDY_AT",
    "workAt": "WORK_AT",
    "isPartOf": "IS_PART_OF",
    "hasType": "HAS_TYPE",
    "isSubclassOf": "IS_SUBCLASS_OF",
}


@dataclass
class Edges:
    """The edges of a file: their kinds of ends, type, and rows of two ids and properties."""

    source: str
    type: str
    target: str
    rows: list[tuple[int, int, dict[str, Any]]]


@dataclass
class Network:
    """All nodes by the names of their files, and all edges."""

    nodes: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    edges: list[Edges] = field(default_factory=list)

    def of(self, source: str, type: str, target: str) -> list[tuple[int, int, dict[str, Any]]]:
        """The edges between two kinds of nodes."""
        found = (e for e in self.edges if (e.source, e.type, e.target) == (source, type, target))
        return next(found).rows


class Archive:
    """The unpacked files of an archive."""

    def __init__(self, archive: Path, folder: Path) -> None:
        if shutil.which("zstd") is None:
            raise FileNotFoundError("no zstd on this machine, which unpacks the data")
        packed = subprocess.run(["zstd", "-dc", archive], check=True, capture_output=True).stdout
        with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
            tar.extractall(folder, filter="data")
        (self.folder,) = folder.iterdir()

    def network(self) -> Network:
        """Everything before the updates."""
        network = Network()
        for path in sorted(self.folder.glob("vanilla/*/*_0_0.csv")):
            name = path.name.removesuffix("_0_0.csv")
            rows = list(lines(path))
            if name in LABELS:
                head = rows[0]
                network.nodes[name] = [node(name, dict(zip(head, row))) for row in rows[1:]]
                continue
            source, type, target = name.split("_")
            head = rows[0][2:]
            edges = []
            for a, b, *rest in rows[1:]:
                edges.append((int(a), int(b), {key: int(text) for key, text in zip(head, rest)}))
            network.edges.append(Edges(source, TYPES[type], target, edges))
        return network

    def parameters(self, query: int) -> list[dict[str, Any]]:
        """The parameters of a complex read."""
        path = self.folder / "substitution_parameters" / f"interactive_{query}_param.txt"
        head, *rows = lines(path)
        # Names are texts, all others numbers.
        return [
            {key: text if key.endswith("Name") else int(text) for key, text in zip(head, row)}
            for row in rows
        ]

    def updates(self) -> list[tuple[int, dict[str, Any]]]:
        """The inserts in the order of their time: number and parameters."""
        events = []
        for path in sorted(self.folder.glob("update_streams/updateStream_0_0_*.csv")):
            for time, _, number, *fields in lines(path):
                events.append((int(time), int(number), fields))
        events.sort(key=lambda event: event[0])
        return [(number, INSERTS[number](fields)) for _, number, fields in events]


def lines(path: Path) -> Iterator[list[str]]:
    with open(path, encoding="utf-8", newline="") as file:
        yield from csv.reader(file, delimiter="|", quoting=csv.QUOTE_NONE)


def node(kind: str, row: dict[str, str]) -> dict[str, Any]:
    """A node's properties, with its labels under the name ``labels``."""
    made: dict[str, Any] = {"labels": list(LABELS[kind])}
    for name, text in row.items():
        if name == "type":
            made["labels"].append(text.capitalize())
        elif kind == "person" and name in LISTS:
            made[LISTS[name]] = split(text)
        elif text:
            made[name] = int(text) if name in NUMBERS else text
    return made


def split(text: str) -> list[str]:
    return text.split(";") if text else []


def ids(text: str) -> list[int]:
    return [int(item) for item in split(text)]


def pairs(text: str) -> list[dict[str, int]]:
    both = (item.split(",") for item in split(text))
    return [{"id": int(id), "year": int(year)} for id, year in both]


def texts(names: str, fields: list[str]) -> dict[str, Any]:
    """Properties by their names; an empty text is none."""
    given = ((name, text) for name, text in zip(names.split(), fields) if text)
    return {name: int(text) if name in NUMBERS else text for name, text in given}


def named(names: str) -> Any:
    return lambda fields: dict(zip(names.split(), map(int, fields)))


def person(f: list[str]) -> dict[str, Any]:
    names = "id firstName lastName gender birthday creationDate locationIP browserUsed"
    properties = texts(names, f[:8]) | {"speaks": split(f[9]), "email": split(f[10])}
    more = {"tagIds": ids(f[11]), "studyAt": pairs(f[12]), "workAt": pairs(f[13])}
    return {"person": properties, "cityId": int(f[8]), **more}


def forum(f: list[str]) -> dict[str, Any]:
    return {
        "forum": texts("id title creationDate", f),
        "moderatorId": int(f[3]),
        "tagIds": ids(f[4]),
    }


def post(f: list[str]) -> dict[str, Any]:
    names = "id imageFile creationDate locationIP browserUsed language content length"
    ends = {"authorId": int(f[8]), "forumId": int(f[9]), "countryId": int(f[10])}
    return {"post": texts(names, f[:8]), **ends, "tagIds": ids(f[11])}


def comment(f: list[str]) -> dict[str, Any]:
    properties = texts("id creationDate locationIP browserUsed content length", f[:6])
    # One of the two is -1.
    replied = max(int(f[8]), int(f[9]))
    ends = {"authorId": int(f[6]), "countryId": int(f[7]), "messageId": replied}
    return {"comment": properties, **ends, "tagIds": ids(f[10])}


#: What makes parameters from the fields of an event, by the number of the insert.
INSERTS: dict[int, Any] = {
    1: person,
    2: named("personId messageId creationDate"),
    3: named("personId messageId creationDate"),
    4: forum,
    5: named("forumId personId joinDate"),
    6: post,
    7: comment,
    8: named("personId friendId creationDate"),
}
