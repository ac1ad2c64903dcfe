"""`venturi report`: pages as files, and their display in a browser without any server."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from venturi.cli.main import cli
from venturi.core.errors import VenturiError
from venturi.core.settings import Settings
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import Provenance, ProvenanceKind, State, Trial

WEB = Path(__file__).parents[3] / "web"
SIZE_MAX_BYTES = 3_000_000
BY = "by=configuration.net&by=configuration.disk&where=workload=terasort"
GROUPS = "&".join(f'group=["{net}","{disk}"]' for net in ("ETH", "IB") for disk in ("HDD", "SSD"))
PAGES = {
    "compare": f"/compare?{BY}&{GROUPS}",
    "cost": f"/cost?{BY}&usd_per_hour=3.6&price_as_of=2014-09-30",  # a tenth of a cent a second
    "trials": f"/trials?{BY}",
    "trial": "/trials/t0003",
    "advice": "/advice?sort=100TB&deadline=30min",
}
FIRST_S = {("ETH", "HDD"): 700, ("ETH", "SSD"): 300, ("IB", "HDD"): 690, ("IB", "SSD"): 228}


@pytest.fixture
def home(
    settings: Settings, make_trial: Callable[..., Trial], monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Nine trials of each of four configurations, 4 s apart."""
    monkeypatch.setenv("VENTURI_HOME", str(settings.home))
    with TrialRepository.open(settings) as repository:
        repository.add_many(
            make_trial(
                id=f"t{10 * place + number:04}",
                configuration={"net": net, "disk": disk},
                repetition=number,
                elapsed_s=float(first_s + 4 * number),
                state=State.SUCCEEDED,
                provenance=Provenance(ProvenanceKind.IMPORTED, "aloja"),
            )
            for place, ((net, disk), first_s) in enumerate(FIRST_S.items())
            for number in range(9)
        )
    return settings.home


def report(*arguments: object) -> str:
    result = CliRunner().invoke(
        cli, ["report", *map(str, arguments)], standalone_mode=False, catch_exceptions=False
    )
    return result.output


def twin_of(page: Path, path: str) -> Any:
    """Return the API's answer for `path` in the file."""
    island = re.search(r'id="twins">(.*?)</script>', page.read_text("utf-8"))
    assert island
    (found,) = [
        value for url, value in json.loads(island[1]).items() if url.partition("?")[0] == path
    ]
    return found


def opened(folder: Path, pages: list[Path]) -> list[dict[str, Any]]:
    """Return Chromium's findings on the pages, wide and narrow."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    if chromium is None:
        pytest.skip("Chromium is not installed (Debian package chromium)")
    if shutil.which("node") is None or not (WEB / "node_modules" / "playwright-core").is_dir():
        pytest.skip("playwright-core is not installed: `make setup` installs it")
    done = subprocess.run(
        ["node", WEB / "tests" / "exported.mjs", chromium, folder / "profile", *pages],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


@pytest.mark.browser
def test_the_pages_show_what_the_api_answers_without_a_server(home: Path, tmp_path: Path) -> None:
    paths = {name: tmp_path / f"{name}.html" for name in PAGES}
    for name, url in PAGES.items():
        said = report(url, "-o", paths[name])
        assert str(paths[name]) in said
        assert paths[name].stat().st_size < SIZE_MAX_BYTES
    findings = opened(tmp_path, list(paths.values()))
    assert len(findings) == 2 * len(PAGES)
    for finding in findings:
        where = (finding["file"], finding["width"])
        assert finding["problems"] == [], where
        assert finding["links"] == [], where
        assert finding["overflow_px"] <= 0, where
        assert finding["stays"], where
        assert "Not in this file" not in finding["text"], where
        assert finding["redrawn"] in (True, None), where
        assert all(chart["marks"] > 3 for chart in finding["charts"]), where
    wide = {Path(f["file"]).stem: f for f in findings if f["width"] > 1000}
    compared = twin_of(paths["compare"], "/api/compare")
    _check_comparison(wide["compare"], compared)
    _check_cost(wide["cost"], twin_of(paths["cost"], "/api/cost"))
    listed = twin_of(paths["trials"], "/api/trials")
    assert listed["total"] == 36
    assert len(wide["trials"]["rows"]) == 1 + len(listed["rows"])
    assert "712" in wide["trial"]["text"]  # 700 s and three times 4 s
    assert twin_of(paths["advice"], "/api/advice")["answer"] in wide["advice"]["text"]


def _check_comparison(finding: dict[str, Any], answer: Any) -> None:
    assert [tuple(group["key"]) for group in answer["groups"]] == list(FIRST_S)
    for group in answer["groups"]:
        median_s = FIRST_S[tuple(group["key"])] + 16
        assert group["elapsed_s"]["median"] == median_s
        (row,) = [r for r in finding["rows"] if r.startswith(f"{group['name']} succ")]
        assert f" 9 {median_s} " in row
        if group["outcome"] is not None:  # the first is the reference
            assert group["verdict"] in finding["text"]
    outcomes = [group["outcome"] for group in answer["groups"]]
    assert outcomes == [None, "lower", "cannot tell", "lower"]
    assert len(finding["charts"]) == 2


def _check_cost(finding: dict[str, Any], answer: Any) -> None:
    assert answer["verdict"] in finding["text"]
    assert "2014-09-30" in finding["text"]
    ranked = {tuple(group["key"]): group for group in answer["groups"]}
    for key, first_s in FIRST_S.items():
        cost_usd = (first_s + 16) * 3.6 / 3600
        assert ranked[key]["cost_usd"]["median"] == pytest.approx(cost_usd)
        row = next(r for r in finding["rows"] if r.startswith(" ".join(key)))
        assert f" {first_s + 16} " in row
        assert f" {cost_usd:.3f} ".rstrip("0 ") in row
        assert ranked[key]["standing"] in row


def test_an_id_is_taken_as_every_verb_takes_it(home: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    with pytest.raises(VenturiError, match="several trials have ids"):
        report("/trials/t000", "-o", page)
    assert not page.exists()
    report("/trials/last", "-o", page)
    assert twin_of(page, "/api/trials/t0038")


def test_a_file_that_is_there_is_kept_unless_told(home: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("mine")
    with pytest.raises(VenturiError) as refused:
        report("/trials", "-o", page)
    assert refused.value.code == "VEN-OUTPUT-EXISTS"
    assert page.read_text() == "mine"
    report("/trials", "-o", page, "--overwrite")
    assert page.read_text().startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("/nowhere", "VEN-API-UNKNOWN"),
        ("/trials/t9999", "VEN-RECORD-UNKNOWN"),
        ("/trials?where=nonsense", "VEN-QUERY-VALUE"),
    ],
)
def test_a_page_that_cannot_be_made_leaves_no_file(
    home: Path, tmp_path: Path, url: str, code: str
) -> None:
    page = tmp_path / "page.html"
    with pytest.raises(VenturiError) as refused:
        report(url, "-o", page)
    assert refused.value.code == code
    assert not page.exists()
