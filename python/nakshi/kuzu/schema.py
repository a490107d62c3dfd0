"""Statements of an export of Kuzu or Ladybug: the tables of ``schema.cypher``, the files of ``copy.cypher``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import InputError

__all__ = [
    "COPY",
    "SCHEMA",
    "Column",
    "Copy",
    "ColumnType",
    "NodeTable",
    "RelTable",
    "Schema",
    "damaged",
    "read_copies",
    "read_schema",
]

#: Names of the files with the statements.
SCHEMA, COPY = "schema.cypher", "copy.cypher"


def damaged(what: str) -> InputError:
    """The error that says so on one line; names and values may have several."""
    return InputError(what.replace("\n", " ").replace("\r", " "))


_TOKEN = re.compile(
    r"""\s+|//[^\n]*|/\*.*?\*/|`(?:[^`]|``)*`|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\w+|.""",
    re.DOTALL,
)
_OPEN, _CLOSED = "([{", ")]}"
#: What a table of relationships says of how many edges a node has.
_MULTIPLICITIES = {"MANY_MANY", "MANY_ONE", "ONE_MANY", "ONE_ONE"}


@dataclass(frozen=True)
class ColumnType:
    """Type of a column: a name with arguments, and how many lists are around it."""

    name: str
    arguments: tuple[str, ...] = ()
    lists: int = 0

    @property
    def item(self) -> ColumnType:
        """Type of the items of a list."""
        return ColumnType(self.name, self.arguments, self.lists - 1)

    def __str__(self) -> str:
        arguments = f"({' '.join(self.arguments)})" if self.arguments else ""
        return self.name + arguments.replace(" ,", ",") + "[]" * self.lists


@dataclass(frozen=True)
class Column:
    """Name and type of a column."""

    name: str
    type: ColumnType


@dataclass(frozen=True)
class NodeTable:
    """A table of nodes and its primary key."""

    name: str
    columns: tuple[Column, ...]
    key: Column


@dataclass(frozen=True)
class RelTable:
    """A table of relationships: the tables of nodes at their ends, and its columns."""

    name: str
    ends: tuple[tuple[str, str], ...]
    columns: tuple[Column, ...]


@dataclass
class Schema:
    """Tables by name, and how many statements of another kind there are, such as macros."""

    nodes: dict[str, NodeTable] = field(default_factory=dict)
    rels: dict[str, RelTable] = field(default_factory=dict)
    others: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Copy:
    """A statement that copies a file into a table; without columns, into all of them."""

    table: str
    columns: tuple[str, ...]
    file: str
    options: dict[str, str]
    line: int


@dataclass(frozen=True)
class _Token:
    text: str
    line: int

    @property
    def word(self) -> str:
        """The token as a keyword; names in backticks are none."""
        return self.text.upper()

    @property
    def name(self) -> str:
        if self.text.startswith("`"):
            return self.text[1:-1].replace("``", "`")
        return self.text


class _Statement:
    """Tokens of a statement, read from left to right."""

    def __init__(self, path: Path, tokens: Sequence[_Token]) -> None:
        self._path, self._tokens, self._at = path, tokens, 0

    @property
    def words(self) -> list[str]:
        return [token.word for token in self._tokens]

    @property
    def texts(self) -> list[str]:
        return [token.text for token in self._tokens]

    @property
    def line(self) -> int:
        return self._tokens[min(self._at, len(self._tokens) - 1)].line

    @property
    def is_read(self) -> bool:
        return self._at == len(self._tokens)

    def error(self, what: str) -> InputError:
        return damaged(f"{self._path}:{self.line}: {what}; export the database again")

    def take(self) -> _Token:
        if self.is_read:
            raise self.error(f"the statement ends too early: {' '.join(self.words)[:80]}")
        self._at += 1
        return self._tokens[self._at - 1]

    def took(self, *words: str) -> bool:
        """Take these words if they come next."""
        found = self.words[self._at : self._at + len(words)] == list(words)
        self._at += len(words) if found else 0
        return found

    def expect(self, *words: str) -> None:
        for word in words:
            if not self.took(word):
                found = "nothing" if self.is_read else repr(self._tokens[self._at].text)
                raise self.error(f"{word} is missing before {found}")

    def name(self) -> str:
        token = self.take()
        if not re.fullmatch(r"`.*`|\w+", token.text, re.DOTALL):
            raise self.error(f"{token.text!r} is no name")
        return token.name

    def text(self) -> str:
        token = self.take()
        if token.text[0] not in "'\"" or len(token.text) < 2:
            raise self.error(f"{token.text} is no text in quotes")
        return _unescaped(token.text)

    def items(self) -> list[_Statement]:
        """Items between parentheses, which commas separate."""
        self.expect("(")
        found: list[list[_Token]] = [[]]
        depth = 0
        while True:
            token = self.take()
            if depth == 0 and token.text == ")":
                break
            if depth == 0 and token.text == ",":
                found.append([])
                continue
            depth += (token.text in _OPEN) - (token.text in _CLOSED)
            found[-1].append(token)
        if found == [[]]:
            return []
        if not all(found):
            raise self.error("an item of a list in parentheses is empty")
        return [_Statement(self._path, tokens) for tokens in found]


def _unescaped(literal: str) -> str:
    return re.sub(r"\\(.)", lambda found: "\t" if found[1] == "t" else found[1], literal[1:-1])


def _statements(path: Path) -> Iterator[_Statement]:
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        raise damaged(f"{path}: there is no such file; export the database again") from None
    except UnicodeDecodeError:
        raise damaged(f"{path}: the file is not UTF-8; export the database again") from None
    line = 1
    tokens: list[_Token] = []
    for found in _TOKEN.finditer(text):
        token = found.group()
        if token == ";":
            if tokens:
                yield _Statement(path, tokens)
            tokens = []
        elif not token.isspace() and not token.startswith(("//", "/*")):
            tokens.append(_Token(token, line))
        line += token.count("\n")
    if tokens:
        yield _Statement(path, tokens)


def read_schema(path: Path) -> Schema:
    """Read the tables of ``schema.cypher``.

    Raises:
        InputError: the file is not there, or one of its statements is broken.
    """
    schema = Schema()
    for statement in _statements(path):
        if statement.took("CREATE", "NODE", "TABLE"):
            table = _node_table(statement)
            schema.nodes[table.name] = table
        elif statement.took("CREATE", "REL", "TABLE"):
            rel = _rel_table(statement)
            schema.rels[rel.name] = rel
        elif statement.took("CREATE", "SEQUENCE"):
            statement.took("IF", "NOT", "EXISTS")
            # A column of the type SERIAL has one of its own.
            if not statement.name().endswith("_serial"):
                _count(schema, "sequence")
        elif statement.took("CREATE", "MACRO"):
            _count(schema, "macro")
        elif statement.words[0] not in ("DROP", "RETURN", "INSTALL", "LOAD", "COMMENT"):
            raise statement.error(f"unknown statement: {' '.join(statement.words)[:80]}")
    for rel in schema.rels.values():
        for end in (end for ends in rel.ends for end in ends):
            if end not in schema.nodes:
                raise damaged(
                    f"{path}: the table {rel.name} leads to or from {end}, which is no table of "
                    "nodes of this file; export the database again"
                )
    return schema


def _count(schema: Schema, kind: str) -> None:
    schema.others[kind] = schema.others.get(kind, 0) + 1


def _node_table(statement: _Statement) -> NodeTable:
    statement.took("IF", "NOT", "EXISTS")
    name = statement.name()
    columns, key = [], None
    for item in statement.items():
        if item.took("PRIMARY", "KEY"):
            item.expect("(")
            key = item.name()
            item.expect(")")
            continue
        column = _column(item)
        columns.append(column)
        if item.words[-2:] == ["PRIMARY", "KEY"]:
            key = column.name
    found = [column for column in columns if column.name == key]
    if not found:
        raise statement.error(f"the table {name} has no column that is its primary key")
    return NodeTable(name, tuple(columns), found[0])


def _rel_table(statement: _Statement) -> RelTable:
    statement.took("GROUP")
    statement.took("IF", "NOT", "EXISTS")
    name = statement.name()
    ends, columns = [], []
    for item in statement.items():
        if item.took("FROM"):
            source = item.name()
            item.expect("TO")
            ends.append((source, item.name()))
        elif len(item.words) > 1 or item.words[0] not in _MULTIPLICITIES:
            columns.append(_column(item))
    if not ends:
        raise statement.error(f"the table {name} has no FROM and TO")
    return RelTable(name, tuple(ends), tuple(columns))


def _column(item: _Statement) -> Column:
    name, kind = item.name(), item.name().upper()
    arguments: list[str] = []
    lists = 0
    if not item.is_read and item.words[2] == "(":
        arguments = [word for part in item.items() for word in (*part.texts, ",")][:-1]
    while item.took("["):
        lists += 1
        if not item.took("]"):
            item.take()
            item.expect("]")
    if not item.is_read and not item.took("DEFAULT") and not item.took("PRIMARY", "KEY"):
        raise item.error(f"the type of the column {name} has more than it should")
    return Column(name, ColumnType(kind, tuple(arguments), lists))


def read_copies(path: Path) -> list[Copy]:
    """Read the statements of ``copy.cypher``.

    Raises:
        InputError: the file is not there, or one of its statements is broken.
    """
    return [_copy(statement) for statement in _statements(path)]


def _copy(statement: _Statement) -> Copy:
    line = statement.line
    statement.expect("COPY")
    table = statement.name()
    columns: tuple[str, ...] = ()
    if not statement.took("FROM"):
        columns = tuple(item.name() for item in statement.items())
        statement.expect("FROM")
    file = statement.text()
    options = {}
    for item in [] if statement.is_read else statement.items():
        name = item.name().lower()
        # Kuzu 0.11 writes "delim=delim='|'".
        while item.took("="):
            item.took(name.upper())
        options[name] = item.text() if item.words[-1][0] in "'\"" else item.name().lower()
    return Copy(table, columns, file, options, line)
