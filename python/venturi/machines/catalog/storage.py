"""The rate of reading and writing local disks concurrently, where only each alone is known."""

from __future__ import annotations

NOTE = "R W/(R + W) of local_read_rate and local_write_rate; high: min(R, W)"


def concurrent_rate(read: float, write: float, disks: float) -> tuple[float, float, float]:
    """Return an estimate and its range, in the unit of both rates.

    R W/(R + W) if they take turns; high min(R, W), if neither hinders the other; low, with several
    disks, min(R, W)/2: half of them read and half write.
    """
    turns, least = read * write / (read + write), min(read, write)
    return turns, (min(turns, least / 2) if disks > 1 else turns), least
