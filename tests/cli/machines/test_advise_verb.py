"""`venturi advise hardware` and `venturi predict` from the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from command_line import on_terminal
from venturi.cli.main import cli
from venturi.core.errors import VenturiError
from venturi.core.settings import Settings

# The paper's machines and its form of equation (6), on a cluster that runs already.
PAPER = ("--startup", "0s", "--core-s-per-gb", "0", "--assume", "fill=100%")
SORT = (
    *("advise", "hardware", "--sort", "100TB", "--catalog", "ec2-2014", "--exchange", "all"),
    *("--objective", "cheapest", *PAPER),
)


UNMEASURED = "instance_type,attribute,value,unit,kind,source,as_of,note\n" + "".join(
    f"{name},{attribute},{value},{unit},advertised,sheet,2026-01-01,\n"
    for name, disk, price in (("a", "NVMe", "1"), ("b", "HDD", "0.4"))
    for attribute, value, unit in (
        ("price", price, "USD/h"),
        ("disk_count", "4", "1"),
        ("disk_size", "4000", "GB"),
        ("disk_kind", disk, ""),
        ("network_line_rate", "10", "Gbit/s"),
    )
)


OWNED = "instance_type,attribute,value,low,high,unit,kind,source,as_of,note\n" + "".join(
    f"{name},{attribute},{value},{value if rate else ''},{value if rate else ''},{unit},measured,"
    "sheet,2026-01-01,\n"
    for name, capital in (("cheap", 2000), ("dear", 200000))
    for attribute, value, unit, rate in (
        ("capital", capital, "USD", 0),
        ("power", 300, "W", 0),
        ("disk_count", 4, "1", 0),
        ("disk_size", 4000, "GB", 0),
        ("storage_rate", 900, "MB/s", 1),
        ("network_rate", 1100, "MB/s", 1),
        ("max_nodes", 12, "1", 0),
    )
)


def run(*args: object, stdin: str | None = None) -> Result:
    return CliRunner().invoke(cli, [str(each) for each in args], input=stdin)


def data(*args: object) -> dict[str, object]:
    done = run(*args, "--json")
    assert done.exit_code == 0, done.output
    answer = json.loads(done.stdout)
    assert answer["schema"] == 1
    found = answer["data"]
    assert isinstance(found, dict)
    return found


def error(*args: object) -> VenturiError:
    done = run(*args)
    assert isinstance(done.exception, VenturiError), done.output
    return done.exception


def test_the_papers_question_in_whole_lines() -> None:
    done = run(*SORT)
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) > 100  # notes are paragraphs
    row = next(line for line in lines if line.startswith("1 "))
    for cell in ("i2.8xlarge", "47", "61 min", "$325", "net", "derived", "2014-09!"):
        assert cell in row
    for words in (
        "1 other type is statistically tied in cost: m1.xlarge.",
        "Frontier",
        "it would separate m1.xlarge from ",
        "a figure is unknown",
        "9,375 nodes",
    ):
        assert words in " ".join(done.stdout.split())


def test_100_tb_today_has_options_of_three_clouds_with_sources_and_ranges() -> None:
    found = data("advise", "hardware", "--sort", "100TB")
    assert found["catalogs"] == ["current"]
    (two_io,) = found["classes"]  # type: ignore[misc]
    providers = [each["provider"] for each in two_io["ranked"]]
    assert len(providers) >= 20
    assert set(providers) == {"aws", "gcp", "azure"}
    assert all(
        each["metered_usd"]["low"] < each["metered_usd"]["high"] for each in two_io["ranked"]
    )
    text = " ".join(run("advise", "hardware", "--sort", "100TB").stdout.split())
    assert " are statistically tied in cost, such as " in text
    assert "`venturi probe disk`" in text
    assert "Elsewhere: " in text


def test_a_single_machine_is_recommended_in_the_singular() -> None:
    shown = run(
        "advise", "hardware", "--sort", "100GB", "--deadline", "5min", "--provider", "aws"
    ).stdout
    assert "Recommended for its 1 machine instead of 3, at a cost 23% higher" in shown


def test_options_alone_are_a_question_for_hardware() -> None:
    short = run("advise", *SORT[2:])
    assert (short.exit_code, short.stdout) == (0, run(*SORT).stdout)
    asked = run("advise", "--help")
    assert asked.exit_code == 0
    assert "hardware" in asked.stdout
    assert "--deadline" not in asked.stdout
    assert "'hardware'" in run("advise", "hardwar", *SORT[2:]).stderr


def test_json_has_the_whole_answer() -> None:
    found = data(*SORT, "--durability", "2-io", "--durability", "volumes")
    two_io, volumes = found["classes"]  # type: ignore[misc]
    assert two_io["durability"] == "2-io"
    first = two_io["ranked"][0]
    assert (first["instance_type"], first["nodes"], first["least_nodes"]) == ("i2.8xlarge", 47, 47)
    assert two_io["choices"]["cheapest"] == first
    assert two_io["curve"][0]["nodes"] == 47
    assert first["time_s"]["low"] < first["time_s"]["value"] < first["time_s"]["high"]
    assert first["billed_usd"] is None  # in which steps was not said
    assert two_io["frontier"][0]["by_middle"] is True
    assert two_io["measure"][0]["instance_type"] == "m1.xlarge"
    assert volumes["ranked"] == []
    assert {"reason", "detail"} <= volumes["excluded"][0].keys()


def test_a_catalogue_without_disk_rates_is_ranked_by_assumptions(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text(UNMEASURED)
    hint = error("advise", "hardware", "--sort", "1TB", "--catalog", path).hint
    assert "--assume" in hint
    assumed = ("--assume", "NVMe=1000MB/s", "--assume", "HDD=150MB/s", "--assume", "network=70%")
    done = run("advise", "hardware", "--sort", "10TB", "--catalog", path, *assumed)
    assert done.exit_code == 0
    assert "assumed" in done.stdout
    assert "Measure the" in done.stdout


def test_the_choices_keep_their_limits_and_reasons_at_80_columns(settings: Settings) -> None:
    words = ("advise", "hardware", "--sort", "50TB", "--deadline", "2h")
    shown = on_terminal(settings, *words)
    (head,) = (line for line in shown if line.startswith("option"))
    assert head.endswith("limited by")
    (row,) = (line for line in shown if line.startswith("recommended"))
    assert " disk or net" in row
    text = " ".join(shown)
    assert "On-demand prices of 2026-" in text
    assert "can't separate it" not in text
    cheapest = next(line for line in shown if line.startswith("cheapest"))
    low, high = (float(line.split("$")[1].split()[0]) for line in (cheapest, row))
    assert f"at a cost {high / low - 1:.0%} higher" in " ".join(text.split())


def test_a_prediction_names_its_least_certain_parts_as_its_explanation_does(
    settings: Settings,
) -> None:
    words = ("predict", "--sort", "10TB", "--on", "i4i.4xlarge:20")
    text = " ".join(" ".join(on_terminal(settings, *words)).split())
    assert "Least certain: start-up (-2 to +6.5 min) and network (-0.48 to +6.8 min)." in text
    assert "Limits: map: net or disk; reduce: disk." in text
    assert "AWS EC2 on-demand price list, us-east-1" in text
    assert "Assumed: the cluster starts" not in text
    assert "start-up: -2 to +6.5 min" in run(*words, "--explain").stdout


def test_measured_figures_are_laid_over(tmp_path: Path) -> None:
    path = tmp_path / "probes.csv"
    path.write_text(
        "instance_type,attribute,value,unit,kind,source,as_of,note\n"
        "hs1.8xlarge,network_rate_at_scale,1000,MB/s,measured,probe,2015-01-01,\n"
    )
    found = data(*SORT, "--measured", path)
    ranked = [each["instance_type"] for each in found["classes"][0]["ranked"]]  # type: ignore[index]
    assert ranked[0] == "hs1.8xlarge"


def test_deadline_budget_and_caps() -> None:
    found = data(*SORT, "--deadline", "20min", "--objective", "cheapest")
    (option,) = found["classes"][0]["ranked"][:1]  # type: ignore[index]
    assert option["time_s"]["value"] <= 1200
    few = error(*SORT, "--deadline", "1min", "--max-nodes", "i2.8xlarge=100")
    assert few.code == "VEN-ADVISE-NOWHERE"
    assert "nearest" in few.hint
    assert error(*SORT, "--budget", "1").code == "VEN-ADVISE-NOWHERE"
    assert (
        "needs more nodes"
        in error(*SORT, "--max-nodes", "2", "--max-nodes", "i2.8xlarge=3").message
    )


def test_explain_shows_formula_source_bill_and_sensitivity() -> None:
    done = run(*SORT, "--explain", "i2.8xlarge:178")
    assert done.exit_code == 0
    text = " ".join(done.stdout.split())
    for words in (
        "100.0 TB / (178 x 879 MB/s)",
        "SoCC 2015 paper, section 5.1",
        "(1)",
        "Bill",
        "178 nodes x 6.82 USD/h",
        "What would change the answer",
    ):
        assert words in text
    (why,) = data(*SORT, "--explain", "i2.8xlarge")["explanations"]  # type: ignore[misc]
    assert why["option"]["nodes"] == 47
    assert {"kind", "source", "as_of", "range_from"} <= why["terms"][0]["rate"].keys()


def test_explain_without_a_limit_is_still_json() -> None:
    done = run(*SORT, "--network", "unlimited", "--explain", "i2.8xlarge", "--json")
    assert "Infinity" not in done.stdout
    assert json.loads(done.stdout)["data"]["explanations"]


def test_a_job_file(tmp_path: Path) -> None:
    path = tmp_path / "job.toml"
    path.write_text('name = "join"\ninput = "10TB"\noutput = "1TB"\ndurability = "replicated"\n')
    found = data("advise", "hardware", "--job", path)
    assert found["classes"][0]["durability"] == "replicated"  # type: ignore[index]
    path.write_text("input = 1 parsec")
    assert error("advise", "hardware", "--job", path).code == "VEN-JOB-FORMAT"
    assert error("advise", "hardware", "--job", tmp_path / "no").code == "VEN-JOB-FORMAT"
    done = run("advise", "hardware", "--job", "-", stdin='input = "10TB"')
    assert done.exit_code == 0


def test_predict() -> None:
    done = run(
        "predict",
        "--sort",
        "100TB",
        "--on",
        "i2.8xlarge:178",
        "--on",
        "hs1.8xlarge:7",
        "--network",
        "baseline",
        *PAPER,
    )
    assert done.exit_code == 0
    assert "13.9 min" in done.stdout
    assert "≥ 7.49 h" in done.stdout
    paper = ("--exchange", "all", *PAPER)
    (option,) = data("predict", "--sort", "100TB", "--on", "i2.8xlarge:178", *paper)["options"]  # type: ignore[misc]
    assert option["cost_usd"]["value"] == pytest.approx(325, abs=1)
    why = run("predict", "--sort", "100TB", "--on", "i2.8xlarge:178", "--explain")
    assert "879 MB/s" in why.stdout
    replicated = data(
        "predict",
        "--sort",
        "100TB",
        "--on",
        "i2.8xlarge:186",
        "--durability",
        "replicated",
        *paper,
    )
    assert replicated["options"][0]["time_s"]["value"] == pytest.approx(1223, abs=1)  # type: ignore[index]
    assert error("predict", "--sort", "100TB", "--on", "i2.8xlarge:46").code == "VEN-ADVISE-NOWHERE"
    assert error("predict", "--sort", "1TB", "--on", "i9:4").code == "VEN-CATALOG-UNKNOWN"


def test_a_type_of_another_shipped_catalogue_is_found_there() -> None:
    asked = ("predict", "--sort", "1TB", "--on", "i4i.8xlarge:10")
    assert error(*asked, "--catalog", "ec2-2014").hint == (
        "it is in the catalog current: add --catalog current"
    )
    both = run(*asked, "--on", "i2.8xlarge:10")  # one of each, and none is named
    assert both.exit_code == 0, both.output
    assert {"i4i.8xlarge", "i2.8xlarge"} <= set(both.stdout.split())


@pytest.mark.parametrize(
    "args",
    [
        ("advise", "hardware"),
        (*SORT, "--job", "job.toml"),
        (*SORT, "--max-nodes", "many"),
        (*SORT, "--max-nodes", "=3"),
        (*SORT, "--explain", "i2.8xlarge:x"),
        (*SORT, "--durability", "eternal"),
        ("predict", "--sort", "1TB"),
        ("predict", "--sort", "1TB", "--on", "i2.8xlarge"),
        ("predict", "--sort", "1TB", "--on", "i2.8xlarge:0"),
    ],
)
def test_wrong_usage(args: tuple[str, ...]) -> None:
    assert run(*args).exit_code == 2


def test_wrong_values_are_errors_of_usage_or_of_the_user() -> None:
    assert error(*SORT, "--assume", "storage=fast").exit_code == 2
    assert error(*SORT, "--catalog", "ec2-2041").code == "VEN-CATALOG-UNKNOWN"
    assert error(*SORT, "--budget", "0").code == "VEN-MODEL-INPUT"


def test_spot_nodes_cost_more_than_without_losses_and_may_be_advised_against() -> None:
    on = ("predict", "--sort", "100TB", "--on", "i2.8xlarge:178", "--json", "--spot")
    calm = json.loads(run(*on, "2.0:0.0001").stdout)["data"]["spot"]["178 i2.8xlarge"]
    wild = json.loads(run(*on, "2.0:0.05").stdout)["data"]["spot"]["178 i2.8xlarge"]
    assert calm["without_loss"] <= calm["metered"]["mean"] < wild["metered"]["mean"]
    assert wild["elapsed_s"]["p50"] < wild["elapsed_s"]["p95"]
    hopeless = json.loads(run(*on, "2.0:50").stdout)["data"]["spot"]["178 i2.8xlarge"]
    assert "more than a year" in hopeless["do_not_use"]
    assert hopeless["metered"] is hopeless["elapsed_s"] is None
    told = run(*on[:5], "--spot", "2.0:50").stdout
    assert "do not use" in told
    assert max(len(word) for word in told.split()) < 30  # no 10^100 dollars
    table = run("predict", "--sort", "100TB", "--on", "i2.8xlarge:178", "--spot", "2.0:0.05").stdout
    assert "every loss starting the job again" in table
    assert "time: median " in table


@pytest.mark.parametrize("spot", ["catalog", "-1:0.1", "1:-1", "nan:1"])
def test_spot_without_known_figures_is_refused(spot: str) -> None:
    result = run("predict", "--sort", "100TB", "--on", "i2.8xlarge:178", f"--spot={spot}")
    assert isinstance(result.exception, VenturiError)
    assert result.exception.code == "VEN-MODEL-INPUT"


def test_spot_of_a_catalogue_without_it_says_what_to_give_instead() -> None:
    refused = error("predict", "--sort", "1TB", "--on", "i2.8xlarge:10", "--spot", "catalog")
    assert "doesn't give the losses of an interruptible node per hour" in refused.message
    assert "--spot 0.82:0.05" in refused.hint


def test_spot_as_nonsense_is_a_usage_error() -> None:
    result = run("predict", "--sort", "100TB", "--on", "i2.8xlarge:178", "--spot", "cheap")
    assert result.exit_code == 2


@pytest.mark.parametrize(
    ("arguments", "cost", "model"),
    [
        (
            ("--on", "i2.8xlarge:178", "--exchange", "all", "--took", "888.03s"),
            "$299.45",
            "+8.4 %",
        ),
        (
            ("--on", "i2.8xlarge:186", "--durability", "replicated", "--took", "1378s"),
            "$485.56",
            "-11.4 %",
        ),
        (
            (
                "--on",
                "r3.4xlarge:330",
                "--volumes",
                "gp2:8,size=135GiB",
                "--assume",
                "SSD=1GB/s",
                "--network",
                "unlimited",
                "--took",
                "2980.76s",
            ),
            "$450.84",
            "-13.1 %",
        ),
    ],
)
def test_the_records_of_2014_beside_what_the_model_says(
    arguments: tuple[str, ...], cost: str, model: str
) -> None:
    done = run("predict", "--sort", "100TB", *arguments)
    assert done.exit_code == 0, done.output
    told = " ".join(done.stdout.split())
    assert f"and cost {cost}; the model says" in told
    assert model in told


def test_as_many_times_as_machines_are_taken() -> None:
    on = ("predict", "--sort", "1TB", "--on", "i2.8xlarge:10", "--on", "i2.8xlarge:20")
    assert run(*on, "--took", "5min").exit_code == 2
    (first, second) = data(*on, "--took", "5min", "--took", "150s")["ran"]  # type: ignore[misc]
    assert first["usd"] == pytest.approx(second["usd"])
    assert first["error"] == pytest.approx(first["model_s"] / 300 - 1)


def test_what_spot_nodes_lose_is_said_where_it_is_not_counted() -> None:
    asked = ("advise", "--sort", "10TB", "--catalog", "current", "--limit", "2")
    told = " ".join(run(*asked, "--assume", "price=spot").stdout.split())
    assert re.search(
        "Not in the costs: cost of losing spot nodes \\(i8g\\.48xlarge: [\\d.]+ per node and hour",
        told,
    )
    assert "`venturi simulate --on TYPE:N --loss-per-node-hour X` counts losses." in told
    assert "Not in the costs" not in run(*asked).stdout


def test_owned_machines_without_all_their_costs_are_never_surely_cheaper(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text(OWNED)
    asked = ("advise", "--sort", "1TB", "--catalog", path, "--own")
    part = " ".join(run(*asked, "years=4,use=0.6,kwh=0.15").stdout.split())
    assert "for all values within" not in part
    assert "is not whole (space is left out: not given; staff is left out: not given)" in part
    whole = run(*asked, "years=4,use=0.6,kwh=0.15,space=300,staff=500")
    assert "cheap is cheaper than the others for all values within" in whole.stdout
    cost = data(*asked, "years=4,use=0.6,kwh=0.15,space=300,staff=500", "--nodes", "2")
    worked_h = 8760 * 0.6
    hourly = 2000 / (4 * worked_h) + 0.3 * 0.15 + 800 / worked_h
    first = cost["classes"][0]["ranked"][0]  # type: ignore[index]
    assert first["metered_usd"]["value"] == pytest.approx(
        2 * hourly * first["time_s"]["value"] / 3600
    )
