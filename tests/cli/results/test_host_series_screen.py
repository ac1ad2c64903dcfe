"""`venturi show` of the host series of other tools: busiest disk, CPU, network, host, times."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import venturi

RESULTS = Path(__file__).parents[2] / "data" / "results"
HEAD = "Linux 5.15.0-91-generic (node7) \t01/15/2026 \t_x86_64_\t(8 CPU)\n\n"
REPORT = """01/15/2026 10:00:0{n} AM
avg-cpu:  %user   %nice %system %iowait  %steal   %idle
          1{n}.00    0.00    5.00   20.00    0.00   6{m}.00

Device            r/s     rkB/s r_await     w/s     wkB/s w_await  aqu-sz  %util
sda             10.00   1000.00    2.50    5.00    500.00    5.00    0.10   8.00
nvme0n1       500.00  90000.00    1.50  100.00  30000.00   12.00    6.00  9{n}.00
nvme0n1p1     500.00  90000.00    1.50  100.00  30000.00   12.00    6.00  9{n}.00

"""


def shown(path: Path, home: Path) -> str:
    venturi("import", path, home=home)
    return " ".join(venturi("show", "last", home=home).stdout.split())


def test_iostat_has_its_figures_on_the_first_screen(tmp_path: Path) -> None:
    path = tmp_path / "iostat.txt"
    path.write_text(HEAD + "".join(REPORT.format(n=n, m=5 - n) for n in range(1, 6)))
    said = shown(path, tmp_path / "home")
    assert "hosts node7" in said
    assert "began 10:00:01" in said
    assert "samples 4 over 3.0 s" in said
    # The first report is the mean since the host started.
    assert "disk nvme0n1, busiest of 2: 94% busy (most 95%), read 92 MB/s, write 31 MB/s" in said
    assert "read await 1.5 ms, write await 12 ms" in said
    assert "CPU 18% busy (most 20%), waiting for I/O 20%" in said


@pytest.mark.parametrize("name", ["sysstat/sadf.json", "sysstat/iostat.json", "dstat/dstat.csv"])
def test_every_tool_has_figures(name: str, tmp_path: Path) -> None:
    said = shown(RESULTS / name, tmp_path)
    assert "samples" in said
    assert "disk " in said
    assert "% busy (most " in said
    assert "None" not in said
    assert "nan%" not in said
