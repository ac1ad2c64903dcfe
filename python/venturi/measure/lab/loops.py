"""Loop devices of labs: made, attached to a file, detached and removed by number.

Uses the kernel's own calls instead of `losetup`: each either happens or doesn't, even after a kill,
and the device keeps our name for the file (see loop(4)).
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_CONTROL = "/dev/loop-control"
_ADD, _REMOVE = 0x4C80, 0x4C81
_CONFIGURE, _CLEAR, _STATUS = 0x4C0A, 0x4C01, 0x4C05
_DIRECT_IO = 16
_BLOCK_BYTES = 512
# struct loop_info64, behind the descriptor and block size of struct loop_config.
_INFO = struct.Struct("=QQQQQIIII64s64s32sQQ")
_CONFIG = struct.Struct("=II")
_RESERVED = bytes(64)
_FIRST = 256  # above the numbers that `losetup -f` gives to others
_GONE_S = 5.0


def free_number() -> int:
    """The number of a loop device that does not exist."""
    number = _FIRST
    while device(number).exists() or _block(number).exists():
        number += 1
    return number


def device(number: int) -> Path:
    """Its device file."""
    return Path(f"/dev/loop{number}")


def attached(number: int) -> str | None:
    """Return the name under which a loop device was attached; None if it is missing or free."""
    try:
        with _opened(device(number), os.O_RDONLY) as loop:
            info = fcntl.ioctl(loop, _STATUS, bytes(_INFO.size))
    except OSError:
        return None
    name: bytes = _INFO.unpack(info)[9]
    return name.rstrip(b"\0").decode(errors="replace")


def attach(number: int, backing: Path, name: str) -> None:
    """Make the loop device `number` and attach it to `backing`, which it reads and writes directly;
    it keeps at most 63 bytes of `name`. OSError if another process was faster.
    """
    with _opened(Path(_CONTROL), os.O_RDWR) as control:
        fcntl.ioctl(control, _ADD, number)
    with _opened(backing, os.O_RDWR) as file, _opened(device(number), os.O_RDWR) as loop:
        info = _INFO.pack(0, 0, 0, 0, 0, 0, 0, 0, _DIRECT_IO, name.encode()[:63], b"", b"", 0, 0)
        fcntl.ioctl(loop, _CONFIGURE, _CONFIG.pack(file, _BLOCK_BYTES) + info + _RESERVED)


def detach(number: int, name: str) -> bool:
    """Detach and remove a loop device, if it is attached as `name` or to nothing.

    Returns False if it is in use. A device with another name is left alone, with the result True.
    """
    until_s = time.monotonic() + _GONE_S
    while True:
        if not _block(number).exists():
            return True
        found = attached(number)
        if found is None:
            if _removed(number):
                return True
        elif found != name[:63]:
            return True
        else:
            try:
                with _opened(device(number), os.O_RDONLY) as loop:
                    fcntl.ioctl(loop, _CLEAR)
                if attached(number) is None:
                    continue
            except OSError as error:
                if error.errno not in {errno.ENXIO, errno.EBUSY}:
                    raise
        if time.monotonic() > until_s:
            return False
        time.sleep(0.01)


def _removed(number: int) -> bool:
    try:
        with _opened(Path(_CONTROL), os.O_RDWR) as control:
            fcntl.ioctl(control, _REMOVE, number)
    except OSError as error:
        if error.errno not in {errno.EBUSY, errno.ENODEV}:
            raise
        return error.errno == errno.ENODEV
    return True


def _block(number: int) -> Path:
    return Path(f"/sys/block/loop{number}")


@contextmanager
def _opened(path: Path, flags: int) -> Iterator[int]:
    opened = os.open(path, flags | os.O_CLOEXEC)
    try:
        yield opened
    finally:
        os.close(opened)
