"""The generated files are fresh, staleness is noticed, and the schema is the record's."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from venturi.record.trial import Sample, Trial
from venturi.record.trial_json import encode

ROOT = Path(__file__).parents[2]


def generated(root: Path, *arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, root / "scripts" / "generated.py", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    return done.returncode, done.stdout


@pytest.mark.slow
def test_files_are_fresh_and_a_stale_one_is_named_and_written_anew(tmp_path: Path) -> None:
    for folder in ("scripts", "schema", "docs/reference", "web/src/generated", "web/src/pages"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    names = ("cli/help.json", "cli/verbs.json", "web/pages.json")
    written = (ROOT / "python/venturi" / name for name in names)
    for path in (*written, *(ROOT / "crates").glob("*/src/**/*.rs")):
        copy = tmp_path / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    stale, gone = tmp_path / "schema/trial.schema.json", tmp_path / "docs/reference/cli.md"
    stale.write_text(stale.read_text().replace('"warm_up"', '"warmup"'))
    gone.unlink()

    status, said = generated(tmp_path, "--check")
    assert status == 1
    assert [line.split()[0] for line in said.splitlines()] == [
        "schema/trial.schema.json",
        "docs/reference/cli.md",
    ]
    assert not gone.exists(), "--check writes nothing"

    assert generated(tmp_path)[0] == 0
    for path in (stale, gone):
        assert path.read_bytes() == (ROOT / path.relative_to(tmp_path)).read_bytes()


def test_records_match_the_schema_and_others_do_not(make_trial: Callable[..., Trial]) -> None:
    schema = json.loads((ROOT / "schema/trial.schema.json").read_text())
    validator = jsonschema.Draft202012Validator(schema)
    sample = Sample("a", None, "s", labels={"dir": None}, missing_reason="not measured")
    record = json.loads(encode(make_trial(samples=(sample,))))
    validator.validate(record)
    for wrong in (record | {"suprise": 1}, record | {"state": "asleep"}, record | {"id": 3}):
        with pytest.raises(jsonschema.ValidationError):
            validator.validate(wrong)
