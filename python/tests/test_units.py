"""Sizes as people write them."""

import pytest
from nakshi import ParameterError
from nakshi.units import format_size, parse_size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1GiB", 1 << 30),
        ("512MiB", 512 << 20),
        ("512mib", 512 << 20),
        ("1GB", 10**9),
        ("1.5GB", 1_500_000_000),
        ("64k", 64 << 10),
        (" 2 MiB ", 2 << 20),
        ("4096", 4096),
        (4096, 4096),
        (None, None),
        # Exact where a float would round.
        (str((1 << 62) + 1), (1 << 62) + 1),
    ],
)
def test_sizes(text: object, size: object) -> None:
    assert parse_size(text) == size  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "bad", ["", "GiB", "1 zebibyte", "-1", "0", 0, -5, True, 1.5, "1e3", "nan", "9" * 30]
)
def test_what_is_no_size(bad: object) -> None:
    with pytest.raises(ParameterError, match="size"):
        parse_size(bad)  # type: ignore[arg-type]


def test_sizes_for_people() -> None:
    assert [format_size(n) for n in (0, 1023, 1536, 5 << 20, 3 << 40)] == [
        "0 B",
        "1023 B",
        "1.5 KiB",
        "5.0 MiB",
        "3.0 TiB",
    ]
