"""`--html`: the page of an answer is whole, says what the table says, and is never overwritten."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from venturi.cli.main import cli
from venturi.core.errors import VenturiError

ADVISE = ["advise", "hardware", "--sort", "100TB", "--catalog", "ec2-2014"]
VERBS = {
    "advise": [*ADVISE, "--deadline", "30min"],
    "advise three classes": [
        *ADVISE,
        "--durability",
        "2-io",
        "--durability",
        "replicated",
        "--durability",
        "volumes",
    ],
    "predict": ["predict", "--sort", "100TB", "--on", "i2.8xlarge:178", "--on", "m1.xlarge:179"],
    "simulate": [
        "simulate",
        "--sort",
        "100TB",
        "--on",
        "i2.8xlarge:178",
        "--trials",
        "50",
        "-q",
        "--deadline",
        "16min",
    ],
}


def run(*arguments: str) -> str:
    result = CliRunner().invoke(cli, arguments, standalone_mode=False, catch_exceptions=False)
    return result.output


@pytest.mark.parametrize("name", VERBS)
def test_the_page_is_whole_and_names_the_machines(name: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    run(*VERBS[name], "--html", str(page))
    text = page.read_text("utf-8")
    assert text.rstrip().endswith("</html>")
    assert "i2.8xlarge" in text
    frame = re.sub(r"(<style>|<script[^>]*>).*?(</style>|</script>)", "", text, flags=re.S)
    assert re.findall(r"(?:src|href|action)=|http", frame) == ["http"]  # http-equiv
    assert list(tmp_path.iterdir()) == [page]


WRITING = [
    *((name, [*arguments, "--html"]) for name, arguments in VERBS.items()),
    ("show", ["show", "last", "--html"]),
    ("catalog ls", ["catalog", "ls", "--html"]),
    ("catalog show", ["catalog", "show", "ec2-2014", "--html"]),
    ("catalog diff", ["catalog", "diff", "ec2-2014", "current", "--html"]),
    *(("report", ["report", "/trials", option]) for option in ("--html", "-o", "--output")),
    *(("quickstart", ["quickstart", option]) for option in ("--html", "--report")),
]


@pytest.mark.parametrize(("verb", "arguments"), WRITING, ids=[verb for verb, _ in WRITING])
def test_every_verb_refuses_a_file_alike_before_its_work(
    verb: str, arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, page = tmp_path / "home", tmp_path / "page.html"
    monkeypatch.setenv("VENTURI_HOME", str(home))
    page.write_text("mine")
    nowhere = Path("/proc/nowhere/page.html")
    for file, code in ((page, "VEN-OUTPUT-EXISTS"), (nowhere, "VEN-OUTPUT-WRITE")):
        with pytest.raises(VenturiError) as caught:
            run(*arguments, str(file))
        assert caught.value.code == code, verb
    assert page.read_text() == "mine"
    assert not home.exists()


def test_a_page_is_replaced_where_that_is_asked_for(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("mine")
    run(*VERBS["simulate"], "--html", str(page), "--overwrite")
    assert "i2.8xlarge" in page.read_text("utf-8")


def test_the_page_knows_the_paper_s_three_costs(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    run(
        "advise",
        "hardware",
        "--sort",
        "100TB",
        "--catalog",
        "ec2-2014",
        "--exchange",
        "all",
        "--objective",
        "cheapest",
        "--startup",
        "0s",
        "--core-s-per-gb",
        "0",
        "--assume",
        "fill=100%",
        "--html",
        str(page),
    )
    twins = re.search(r'id="twins">(.*?)</script>', page.read_text("utf-8"))
    assert twins
    costs = [
        value
        for row in json.loads(twins[1])["/api/advice"]["bars"]
        for value in row["usd"].values()
        if isinstance(value, float)
    ]
    for usd in (218.00, 282.80, 324.52, 361.76, 28.04):
        # The page also counts nodes that fail, which the paper's equations don't.
        assert min(abs(cost / usd - 1) for cost in costs) < 0.02, usd
