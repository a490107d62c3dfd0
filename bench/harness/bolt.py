"""A client of Bolt that costs next to nothing, so that rates are those of the servers.

A driver for Python takes half a millisecond of the processor for a query, which hides the server. Here
messages are encoded before the clock starts, and answers are counted, not decoded. Answers are compared
by the driver before.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

#: Bolt 5.4, the only version that is asked for.
VERSION = bytes([0, 0, 4, 5])
SUCCESS, RECORD = 0x70, 0x71
#: Seconds to wait for a server.
PATIENCE = 120.0
#: Bytes that are read at once.
AT_ONCE = 64 << 10
#: The most data of a chunk.
CHUNK = 0xFFFF
AGENT = "nakshi/bench"
#: PULL of all rows.
PULL = b"\xb1\x3f\xa1\x81n\xff"
#: BEGIN without options, and COMMIT.
BEGIN, COMMIT = b"\xb1\x11\xa0", b"\xb0\x12"


class Failed(Exception):
    """A server has refused a query, or has gone."""


def packed(value: Any) -> bytes:
    """A value in PackStream, version 1."""
    match value:
        case None:
            return b"\xc0"
        case bool():
            return b"\xc3" if value else b"\xc2"
        case int():
            return (
                struct.pack(">b", value) if -16 <= value < 128 else struct.pack(">Bq", 0xCB, value)
            )
        case float():
            return struct.pack(">Bd", 0xC1, value)
        case str():
            data = value.encode()
            return _head(len(data), 0x80, 0xD0) + data
        case list():
            return _head(len(value), 0x90, 0xD4) + b"".join(map(packed, value))
        case dict():
            items = (packed(each) for pair in value.items() for each in pair)
            return _head(len(value), 0xA0, 0xD8) + b"".join(items)
    raise TypeError(f"no parameter of a query: {type(value).__name__}")


def _head(size: int, tiny: int, marker: int) -> bytes:
    if size < 16:
        return bytes([tiny + size])
    return struct.pack(">BI", marker + 2, size)


def framed(message: bytes) -> bytes:
    """A message in chunks."""
    chunks = (message[at : at + CHUNK] for at in range(0, len(message), CHUNK))
    return b"".join(struct.pack(">H", len(chunk)) + chunk for chunk in chunks) + b"\0\0"


@dataclass(frozen=True)
class Message:
    """Requests that leave together, and the number of answers that they get beside rows."""

    data: bytes
    answers: int


def _run(text: str, parameters: dict[str, Any], extra: dict[str, Any]) -> bytes:
    """RUN, with all rows pulled."""
    return framed(b"\xb3\x10" + packed(text) + packed(parameters) + packed(extra)) + framed(PULL)


def query(text: str, parameters: dict[str, Any]) -> Message:
    """A query in a transaction of its own, which only reads."""
    return Message(_run(text, parameters, {"mode": "r"}), 2)


def transaction(texts: Sequence[str], parameters: dict[str, Any]) -> Message:
    """Statements with the same parameters in a transaction that may change the graph."""
    statements = b"".join(_run(text, parameters, {}) for text in texts)
    return Message(framed(BEGIN) + statements + framed(COMMIT), 2 + 2 * len(texts))


def _hello() -> bytes:
    """HELLO, and LOGON without a password."""
    hello = {"user_agent": AGENT, "bolt_agent": {"product": AGENT}}
    messages = (b"\xb1\x01" + packed(hello), b"\xb1\x6a" + packed({"scheme": "none"}))
    return b"".join(map(framed, messages))


class Line:
    """A connection to a server without users.

    Raises:
        Failed: the server speaks another version, or asks for a password.
    """

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self._socket = socket.create_connection((parts.hostname, parts.port), timeout=PATIENCE)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._read = bytearray()
        self._socket.sendall(b"\x60\x60\xb0\x17" + VERSION + bytes(12))
        if self._take(4) != VERSION:
            raise Failed(f"{address} does not speak Bolt 5.4")
        self._socket.sendall(_hello())
        self._answers(2)

    def close(self) -> None:
        """Ends the connection."""
        self._socket.close()

    def ask(self, message: Message) -> int:
        """Sends requests, and returns the number of rows of all of them.

        Raises:
            Failed: the server refuses it, or has gone.
        """
        self._socket.sendall(message.data)
        return self._answers(message.answers)

    def _more(self) -> None:
        data = self._socket.recv(AT_ONCE)
        if not data:
            raise Failed("the server has closed the connection")
        self._read += data

    def _take(self, count: int) -> bytes:
        while len(self._read) < count:
            self._more()
        data = bytes(self._read[:count])
        del self._read[:count]
        return data

    def _answers(self, wanted: int) -> int:
        """Reads until `wanted` messages of success have come; returns the rows between them."""
        rows, at, begins = 0, 0, True
        while wanted:
            while len(self._read) < at + 4:
                self._more()
            size = self._read[at] << 8 | self._read[at + 1]
            if size and begins:
                kind = self._read[at + 3]
                rows += kind == RECORD
                wanted -= kind == SUCCESS
                if kind not in (SUCCESS, RECORD):
                    raise Failed(repr(bytes(self._read[at : at + 300])))
            begins = size == 0
            at += 2 + size
            if not wanted:
                # The mark of the end of the message.
                at += 2
        while len(self._read) < at:
            self._more()
        del self._read[:at]
        return rows
