"""A2: an import that runs out of room says so, leaves nothing, and harms no older store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from rig import SCALE, CommandLine, leftovers

SHARES = (10, 40, 70, 95) if SCALE == 1 else tuple(range(10, 96, 5))


def used(folder: Path) -> int:
    return sum(file.stat().st_blocks * 512 for file in folder.rglob("*") if file.is_file())


@pytest.mark.parametrize("share", SHARES)
def test_a_full_file_system(
    nakshi: CommandLine,
    edge_list: Callable[..., Path],
    mount: Callable[..., Path],
    tmp_path: Path,
    share: int,
) -> None:
    """Seen red with the clean-up of the temporary directory left out."""
    old_edges, new_edges = edge_list(200, 1_000), edge_list(50_000, 400_000)
    nakshi.json("import", new_edges, tmp_path / "whole.nakshi")
    need = used(tmp_path / "whole.nakshi")
    old = tmp_path / "old.nakshi"
    nakshi.json("import", old_edges, old)
    room = used(old) * 2 + need * share // 100 + (64 << 10)
    folder = mount("tmpfs", "-o", f"size={room // 1024}k")
    nakshi.json("import", old_edges, folder / "old.nakshi")
    before = nakshi.content_hash(folder / "old.nakshi")

    done = nakshi.run("import", new_edges, folder / "new.nakshi")

    nakshi.assert_clean_error(done, str(folder))
    assert "space" in done.stderr.lower() and any(c.isdigit() for c in done.stderr), done.stderr
    assert not (folder / "new.nakshi").exists()
    assert leftovers(folder) == []
    nakshi.assert_sound(folder / "old.nakshi")
    assert nakshi.content_hash(folder / "old.nakshi") == before


def test_a_full_disk_with_a_real_file_system(
    nakshi: CommandLine, edge_list: Callable[..., Path], ext4: Callable[..., Path]
) -> None:
    """ext4 reports a full disk at fsync or later than tmpfs does. Seen red like the one above."""
    folder = ext4(4)
    done = nakshi.run("import", edge_list(200_000, 900_000), folder / "new.nakshi")
    nakshi.assert_clean_error(done, str(folder))
    assert [entry.name for entry in folder.iterdir()] == ["lost+found"]


def test_too_little_room_for_temporary_files(
    nakshi: CommandLine, edge_list: Callable[..., Path], mount: Callable[..., Path], tmp_path: Path
) -> None:
    """The import is refused before the disk is full, with what it needs; another disk mends it."""
    edges, store = edge_list(50_000, 2_500_000), tmp_path / "new.nakshi"
    small, large = mount("tmpfs", "-o", "size=8m"), tmp_path / "large"
    large.mkdir()
    words = ("import", edges, store, "--memory", "64MiB", "--scratch")

    done = nakshi.run(*words, small)

    nakshi.assert_clean_error(done, str(small))
    assert "--scratch" in done.stderr and "needs about" in done.stderr, done.stderr
    assert not store.exists() and leftovers(tmp_path) == [] and list(small.iterdir()) == []
    report = nakshi.json(*words, large)
    assert 0 < report["scratch_peak"] <= report["scratch_written"]
    # More than the small disk had: it was right to refuse.
    assert report["scratch_peak"] > 8 << 20
    assert list(large.iterdir()) == []
