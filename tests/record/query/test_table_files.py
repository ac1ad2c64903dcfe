"""Tables as files of which no more than a part is in memory."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import os, re
from pathlib import Path
from venturi.record.store.frames import pl
from venturi.record.query.table_files import content
from venturi.record.query.trial_table import TableColumn, TrialTable

def peak_bytes():
    return int(re.findall(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[0]) * 1024

def read(parts):
    for number in range(parts):
        yield [[f"{number}-{place}", os.urandom(5_000).hex()] for place in range(200)], [{}] * 200

def written(parts):
    columns = tuple(TableColumn(name, "text") for name in ("id", "noise"))
    table = TrialTable(columns, parts * 200, 0, 0, lambda: read(parts))
    return sum(map(len, content(table, "parquet")))

written(3)  # what is loaded, and kept by the allocator
before = peak_bytes()
size_bytes = written(300)
assert size_bytes > 250_000_000
print(peak_bytes() - before)
"""


@pytest.mark.slow
def test_a_parquet_file_is_written_while_its_table_is_read() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < 250_000_000
