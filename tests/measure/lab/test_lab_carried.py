"""Rates of a lab above its machine's own: reported by sum, folder and direction."""

from __future__ import annotations

from pathlib import Path

from venturi.measure.lab.lab_file import lab_of
from venturi.measure.lab.lab_spec import LabSpec, dilated
from venturi.measure.lab.machine_rates import Images, MachineRates, shortfalls

LAB = """
dilation = 2
[network]
rate = "4Gbit/s"
[disks.fast]
size = "1GB"
read_rate = "600MB/s"
write_rate = "200MB/s"
[disks.free]
size = "1GB"
[[hosts]]
name = "h"
count = 3
disks = { fast = 1, free = 1 }
"""
NAMES = tuple(f"h{number}/{disk}0" for number in (1, 2, 3) for disk in ("fast", "free"))


def made() -> LabSpec:
    return dilated(lab_of(LAB, Path("lab.toml")), cores=2)


def carried(write: float, read: float, memory: float, links: float) -> MachineRates:
    return MachineRates(
        (Images("/images", NAMES, write * 1e6, read * 1e6),), memory * 1e6, links * 1e6
    )


def test_nothing_is_said_of_what_the_machine_gives() -> None:
    # Of three hosts with rates halved: 300 MB/s written, 900 read, 750 over links; a twentieth
    # less is within what half a second can tell.
    assert list(shortfalls(made(), carried(290, 870, 290, 725))) == []


def test_each_sum_that_is_above_what_the_machine_gives_is_said_with_both() -> None:
    found = list(shortfalls(made(), carried(280, 800, 270, 700)))
    assert [(each.set_bytes_per_s, each.given_bytes_per_s) for each in found] == [
        (300e6, 280e6),
        (900e6, 800e6),
        (300e6, 270e6),
        (750e6, 700e6),
    ]
    assert [each.what for each in found] == [
        "6 disks in /images, to write",
        "6 disks in /images, to read",
        "6 disks, buffered writes",
        "3 links, all hosts sending",
    ]
    assert found[0].said == "300 MB/s in total; a file there reached 280 MB/s"
    assert found[3].said == "6 Gbit/s in total; connections over loopback reached 5.6 Gbit/s"


def test_what_has_no_limit_or_was_not_measured_is_not_short() -> None:
    assert list(shortfalls(made(), MachineRates((), None, None))) == []
