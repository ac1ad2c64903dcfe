"""Public data sets, read where they are: no copy of them is kept here."""

from __future__ import annotations

import fcntl
import os
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from venturi.core.settings import Settings

if TYPE_CHECKING:
    from venturi.record.importing.tally import ImportReport

VARIABLE = "VENTURI_TEST_DATASETS"


def dataset(name: str) -> Path:
    """A public file in VENTURI_TEST_DATASETS, or in ../shared/datasets next to the checkout; the
    test is skipped where it is absent.
    """
    beside = Path(__file__).parents[3] / "shared" / "datasets"
    path = Path(os.environ.get(VARIABLE) or beside) / name
    if not path.is_file():
        pytest.skip(f"no {path}: set {VARIABLE} to a folder that has it")
    return path


@dataclass(frozen=True)
class ImportedData:
    """A repository on SQLite with a public file, which tests only read, and the import's report."""

    settings: Settings
    report: ImportReport


def imported(tmp_path_factory: pytest.TempPathFactory, format_: str, name: str) -> ImportedData:
    """A public file, imported once for all workers of this run."""
    from venturi.record.importing.importer import import_file
    from venturi.record.store.repository import TrialRepository

    path = dataset(name)
    own = tmp_path_factory.getbasetemp()
    folder = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    home, kept = folder / f"{name}.home", folder / f"{name}.report"
    settings = Settings(home=home, database_url=None, agent=None, allow_debug=False)
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            with TrialRepository.open(settings) as repository:
                kept.write_bytes(pickle.dumps(import_file(repository, format_, path)))
    report: ImportReport = pickle.loads(kept.read_bytes())
    return ImportedData(settings, report)
