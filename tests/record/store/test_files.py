"""Files appear complete, whichever process writes or removes files next to them."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path
from threading import Thread

from venturi.record.store.files import replacing


def handles_of(path: Path) -> list[Path]:
    """The handles of this process that lead to `path`."""
    handles = []
    for each in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):
            handles += [each] if each.readlink() == path else []
    return handles


def test_who_begins_to_write_what_is_just_removed_as_abandoned_begins_again(tmp_path: Path) -> None:
    """The file has its name before its writer has the lock."""
    path = tmp_path / "its.log"
    temporary = tmp_path / f".its.log.{os.getpid()}.part"

    def write() -> None:
        with replacing(path) as file:
            file.write(b"whole")

    writer = Thread(target=write)
    with temporary.open("wb") as removing:
        removing.write(b"of somebody else, longer")
        removing.flush()
        fcntl.flock(removing, fcntl.LOCK_EX)
        writer.start()
        while len(handles_of(temporary)) < 2:
            time.sleep(0.01)
        assert temporary.stat().st_size, "it is not written before it is one's own"
        temporary.unlink()
    writer.join()
    assert path.read_bytes() == b"whole"
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
