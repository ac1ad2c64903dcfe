"""Whatever a user gives `advise`, `predict`, `simulate`, `catalog`: an answer or a clear error."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from venturi.cli.main import main

SORT = ("advise", "hardware", "--sort", "10TB")
HEADER = "instance_type,attribute,value,low,high,unit,kind,source,as_of,note\n"
ROWS = {
    "price": "2,,,USD/h,advertised",
    "vcpus": "8,,,1,advertised",
    "memory": "64,,,GiB,advertised",
    "disk_count": "4,,,1,advertised",
    "disk_size": "1000,,,GB,advertised",
    "storage_rate": "1000,900,1100,MB/s,measured",
    "network_rate": "500,,,MB/s,measured",
}
HUGE = "9" * 5000


@dataclass
class Outcome:
    status: int
    stdout: str
    stderr: str

    @property
    def answer(self) -> Any:
        """The output, which must be JSON without NaN and Infinity."""
        return json.loads(self.stdout, parse_constant=pytest.fail)


Run = Callable[..., Outcome]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["venturi", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as exited:
            main()
        said = capsys.readouterr()
        return Outcome(int(exited.value.code or 0), said.out, said.err)

    return call


def catalogue(path: Path, more: str = "", name: str = "x", **changed: str) -> Path:
    """Write a catalog with one type; a row with the value "" is omitted."""
    rows = ROWS | changed
    text = "".join(f"{name},{each},{row},sheet,2026-01-01,\n" for each, row in rows.items() if row)
    path.parent.mkdir(exist_ok=True)
    path.write_text(HEADER + text + more, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        ((*SORT, "--nodes", 10**30), 2, "1000000"),
        ((*SORT, "--max-nodes", 10**30), 2, "1,000,000"),
        ((*SORT, "--max-nodes", f"i2.8xlarge={HUGE}"), 2, "1,000,000"),
        (
            (*SORT, "--catalog", "ec2-2014", "--max-nodes", "i2.8xlagre=5"),
            1,
            "did you mean i2.8xlarge",
        ),
        ((*SORT, "--explain", f"i2.8xlarge:{HUGE}"), 2, "1,000,000"),
        (("advise", "hardware", "--sort", HUGE + "TB"), 2, "too large"),
        (("advise", "hardware", "--sort", "1000000000000PB"), 1, "at most 1e+21"),
        (("advise", "hardware", "--sort", "900000PB"), 1, "needs more nodes than are available"),
        (("advise", "hardware", "--sort", "100Tb"), 2, "write TB for bytes"),
        (("predict", "--sort", "1TB", "--on", f"i2.8xlarge:{10**30}"), 2, "1,000,000"),
        (("simulate", "--sort", "1TB", "--on", f"i2.8xlarge:{HUGE}"), 2, "1,000,000"),
        (("simulate", "--sort", "10TB", "--on", "i2.8xlarge:2"), 1, "it fits on 5 nodes"),
        (
            ("simulate", "--sort", "10TB", "--on", "d3.8xlarge:20", "--catalog", "current"),
            1,
            "--storage",
        ),
        ((*SORT, "--catalog", HUGE), 1, "neither a shipped catalog nor a file"),
        ((*SORT, "--catalog", "ec2-2014", "--budget", 0.01), 1, "never printed as a number"),
        ((*SORT, "--assume", "network=10Gb/s"), 2, "bits or bytes"),
        ((*SORT, "--assume", "NVMe=80000GB/s"), 2, "5 to 16,000 MB/s"),
        ((*SORT, "--assume", "storage=1kB/s"), 2, "5 to 100,000 MB/s"),
    ],
)
def test_what_cannot_be_is_named_and_never_crashes(
    run: Run, arguments: tuple[object, ...], status: int, words: str
) -> None:
    said = run(*arguments)
    assert said.status == status
    assert words in said.stderr
    assert "Traceback" not in said.stderr


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("input = 1979-05-27", "input"),
        ("input = nan", "input"),
        ("input = 1e400", "finite"),
        ("input = true", "true and false"),
        (f"input = {HUGE}", "not TOML"),
        ("x = " + "[" * 5000, "not TOML"),
        ("input = 1e300", "at most 1e+21"),
        ("inptu = 3", "did you mean input?"),
        ("", 'input = "100TB"'),
        ('input = "1TB"\nstartup = 1e300', "startup_s"),
        ('input = "1TB"\npartition_skew = 1e308', "partition_skew"),
        ('input = "1TB"\nmap_core_s_per_gb = 1e300', "map_core_s_per_byte"),
    ],
)
def test_a_bad_job_file_is_an_error_that_is_json(
    run: Run, tmp_path: Path, text: str, words: str
) -> None:
    job = tmp_path / "job.toml"
    job.write_text(text)
    said = run("advise", "hardware", "--job", job, "--json")
    assert said.status == 1
    error = said.answer["error"]
    assert error["code"] in {"VEN-JOB-FORMAT", "VEN-MODEL-INPUT"}
    assert words in error["message"] + error["hint"]


def test_numbers_that_json_has_no_word_for_are_text(run: Run) -> None:
    assert run(*SORT, "--budget", "nan", "--json").answer["error"]["where"]["value"] == "nan"


def test_what_a_spreadsheet_adds_is_understood_or_named(run: Run, tmp_path: Path) -> None:
    path = catalogue(tmp_path / "own.csv")
    text = path.read_text()
    for changed in ("\ufeff" + text, text + "\n,,,\n", text.replace("\n", "\r\n")):
        path.write_text(changed, encoding="utf-8", newline="")
        assert run(*SORT, "--catalog", path).status == 0
    path.write_text("\ufeff" + text.replace(",1000,900,", ",1e9,,"), encoding="utf-8")
    assert f"{path}, line 7" in run(*SORT, "--catalog", path).stderr
    for mark, name in ((";", "semicolons"), ("\t", "tabs")):
        path.write_text(text.replace(",", mark))
        assert name in run(*SORT, "--catalog", path).stderr
        said = run("catalog", "import", "onprem", path, "-o", tmp_path / "out.csv")
        assert name in said.stderr
    path.write_text("")
    assert "the file is empty" in run(*SORT, "--catalog", path).stderr
    path.write_text("name,cores\n")
    assert "catalog import" in run(*SORT, "--catalog", path).stderr


def test_disks_that_contradict_their_total_are_asked_about(run: Run, tmp_path: Path) -> None:
    path = catalogue(tmp_path / "own.csv", local_size="40000,,,GB,advertised")
    said = run(*SORT, "--catalog", path)
    assert (said.status, "contradicts disk_count" in said.stderr) == (1, True)
    assert run(*SORT, "--catalog", catalogue(path, local_size="4000,,,GB,advertised")).status == 0


def test_other_currencies_leave_out_the_type_and_not_the_answer(run: Run, tmp_path: Path) -> None:
    euro = catalogue(tmp_path / "euro.csv", name="y", price="2,,,EUR/h,advertised")
    said = run(*SORT, "--catalog", euro)
    assert said.status == 1
    for words in ("priced in EUR", "prices in USD", "--measured"):
        assert words in said.stderr
    fee = catalogue(tmp_path / "fee.csv", name="z", platform_fee="0.1,,,EUR/h,advertised")
    both = run(*SORT, "--catalog", catalogue(tmp_path / "own.csv"), "--catalog", fee, "--json")
    (found,) = both.answer["data"]["classes"]
    assert [each["instance_type"] for each in found["ranked"]] == ["x"]
    assert "a fee in EUR" in found["excluded"][0]["detail"]


def test_without_a_price_the_reason_stands_in_its_place(run: Run, tmp_path: Path) -> None:
    free = catalogue(tmp_path / "free.csv", price="")
    on = ("predict", "--sort", "10TB", "--on", "x:10", "--catalog", free)
    page = tmp_path / "page.html"
    said = run(*on, "--html", page)
    assert said.status == 0, said.stderr
    assert "no cost of x: the catalog doesn't give" in said.stdout
    assert "cost unknown" in page.read_text()
    (option,) = run(*on, "--json").answer["data"]["options"]
    for name in ("cost_usd", "metered_usd", "billed_usd", "price_as_of"):
        assert option[name] is None
        assert option["missing"][name]
    (option,) = run(*on[:-1], catalogue(free), "--json").answer["data"]["options"]
    assert option["missing"] == {"billed_usd": "the catalog doesn't give the billing increment"}


def test_two_catalogues_of_one_name(run: Run, tmp_path: Path) -> None:
    first = catalogue(tmp_path / "a" / "own.csv")
    second = catalogue(tmp_path / "b" / "own.csv", name="y")
    said = run(
        *SORT, "--catalog", first, "--catalog", second, "--html", tmp_path / "page.html", "--json"
    )
    assert said.status == 0, said.stderr
    assert said.answer["data"]["catalogs"] == ["own", str(second)]


def test_measured_takes_a_folder(run: Run, tmp_path: Path) -> None:
    unmeasured = catalogue(tmp_path / "own.csv", storage_rate="", network_rate="")
    probes = tmp_path / "probes"
    catalogue(probes / "disk.csv", **dict.fromkeys(set(ROWS) - {"storage_rate"}, ""))
    catalogue(probes / "net.csv", **dict.fromkeys(set(ROWS) - {"network_rate"}, ""))
    assert run(*SORT, "--catalog", unmeasured).status == 1
    assert run(*SORT, "--catalog", unmeasured, "--measured", probes).status == 0
    (tmp_path / "none").mkdir()
    said = run(*SORT, "--catalog", unmeasured, "--measured", tmp_path / "none")
    assert (said.status, "no CSV file" in said.stderr) == (1, True)


def test_an_assumed_network_is_never_faster_than_its_line(run: Run, tmp_path: Path) -> None:
    path = catalogue(
        tmp_path / "own.csv", network_rate="", network_line_rate="1,,,Gbit/s,advertised"
    )
    said = run(*SORT, "--catalog", path, "--assume", "network=5Gbit/s", "--explain", "x", "--json")
    (why,) = said.answer["data"]["explanations"]
    (rate,) = [term["rate"] for term in why["terms"] if term["resource"] == "network"]
    assert (rate["value"], rate["high"]) == (125e6, 125e6)
    assert "cut to the advertised line rate" in rate["note"]
    assert rate["range_from"] == "as assumed"


def test_the_kind_of_a_disk_is_known_in_any_case(run: Run, tmp_path: Path) -> None:
    path = catalogue(tmp_path / "own.csv", storage_rate="", disk_kind="nvme,,,,advertised")
    assert run(*SORT, "--catalog", path, "--assume", "NVMe=1GB/s").status == 0


def test_explain_leaves_out_the_classes_that_are_none(run: Run) -> None:
    classes = ("--durability", "2-io", "--durability", "volumes")
    said = run(
        "advise",
        "hardware",
        "--sort",
        "100TB",
        *classes,
        "--explain",
        "i2.8xlarge",
        "--catalog",
        "ec2-2014",
    )
    assert said.status == 0
    assert "100 TB, 2-io, on 53 i2.8xlarge" in said.stdout
    assert "volumes: it cannot be used there" in said.stderr


def test_simulate_reads_the_job_from_stdin_and_names_its_unit(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    job = tmp_path / "job.toml"
    job.write_text('input = "1TB"')
    with job.open() as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        said = run("simulate", "--job", "-", "--on", "i2.8xlarge:5", "--trials", 5)
    assert said.status == 0, said.stderr
    assert "done within [s]" in said.stdout


def test_a_node_has_not_any_number_of_volumes(run: Run) -> None:
    said = run(
        "simulate",
        "--sort",
        "10TB",
        "--on",
        "i2.8xlarge:20",
        "--durability",
        "volumes",
        "--volumes",
        "100000000:uniform(50MB/s,60MB/s)",
    )
    assert (said.status, "from 1 to 1000" in said.stderr) == (1, True)


def test_an_output_that_cannot_be_written(run: Run, tmp_path: Path) -> None:
    source = Path(__file__).parents[2] / "data" / "catalogs" / "machines.csv"
    (tmp_path / "file").touch()
    said = run("catalog", "import", "onprem", source, "-o", tmp_path / "file" / "out.csv")
    assert said.status == 1
    assert "error[VEN-OUTPUT-WRITE]" in said.stderr


def test_memory_that_is_not_known_keeps_nothing_and_says_so(run: Run, tmp_path: Path) -> None:
    job = tmp_path / "job.toml"
    job.write_text('input = "1TB"\nretained_share = 0.5')
    path = catalogue(tmp_path / "own.csv", memory="")
    said = run("predict", "--job", job, "--on", "x:4", "--catalog", path, "--json")
    (option,) = said.answer["data"]["options"]
    assert any("memory keeps nothing" in each for each in option["assumptions"])


def test_what_is_only_a_lower_bound_has_no_rank(run: Run) -> None:
    said = run(
        "advise",
        "hardware",
        "--sort",
        "100TB",
        "--explain",
        "hs1.8xlarge",
        "--json",
        "--catalog",
        "ec2-2014",
        "--network",
        "baseline",
    )
    (why,) = said.answer["data"]["explanations"]
    assert why["option"]["lower_bound"] is True
    assert why["rank"] is None
    assert all(each["rank"] is None for each in why["sensitivity"])


def test_a_long_difference_is_cut_and_json_has_it_all(run: Run) -> None:
    said = run("catalog", "diff", "ec2-2014", "current")
    assert "only in current: " in said.stdout
    assert "and 302 more (--json lists them)" in said.stdout
    assert (
        len(run("catalog", "diff", "ec2-2014", "current", "--json").answer["data"]["added"]) == 312
    )


def test_simulate_takes_what_was_measured_or_is_assumed(run: Run, tmp_path: Path) -> None:
    path = catalogue(tmp_path / "own.csv", storage_rate="")
    on = ("simulate", "--sort", "1TB", "--on", "x:4", "--catalog", path, "--trials", 5, "--json")
    assert "--measured" in run(*on).answer["error"]["hint"]
    assumed = run(*on, "--assume", "storage=900MB/s", "--html", tmp_path / "page.html")
    assert "450MB/s,1350MB/s" in assumed.answer["data"]["settings"]["storage"]
    probe = catalogue(tmp_path / "p.csv", **dict.fromkeys(set(ROWS) - {"storage_rate"}, ""))
    measured = run(*on, "--measured", probe)
    assert "900MB/s,1100MB/s" in measured.answer["data"]["settings"]["storage"]


def test_machines_that_were_bought_have_a_price_by_their_owners_terms(
    run: Run, tmp_path: Path
) -> None:
    sheet = catalogue(
        tmp_path / "own.csv", price="", capital="35040,,,EUR,advertised", power="500,,,W,advertised"
    )
    assert run(*SORT, "--catalog", sheet).status == 1
    said = run(*SORT, "--catalog", sheet, "--own", "years=4")
    assert (said.status, "usd=RATE" in said.stderr) == (1, True)
    terms = ("--own", "years=4,use=0.5,kwh=0.2,pue=1.5,usd=1.1")
    done = run(*SORT, "--catalog", sheet, *terms, "--explain", "x", "--json")
    assert done.status == 0, done.stderr
    (why,) = done.answer["data"]["explanations"]
    (item,) = why["bill"]["items"]
    # 35,040 / (4 x 8,760 x 0.5) + 0.5 kW x 1.5 x 0.2, in US dollars
    assert "2.365 USD/h" in item["formula"]
    for words in ("sheet", "utilization 0.5", "1 EUR is 1.1 USD"):
        assert words in item["source"]
    assert why["option"]["missing"]["billed_usd"].startswith("your own machines")


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        ("years=0", "0.1 to 50"),
        ("years=4,use=2", "0.001 to 1"),
        ("years=nan", "0.1 to 50"),
        ("use=1", "years"),
        ("years=4,years=5", "given twice"),
        ("rent=4", "is not a part of --own"),
        ("", "is not a part of --own"),
    ],
)
def test_bad_terms_of_an_owner(run: Run, terms: str, words: str) -> None:
    said = run(*SORT, "--own", terms)
    assert said.status == 2
    assert words in said.stderr
    assert "years=4,use=0.6" in said.stderr
