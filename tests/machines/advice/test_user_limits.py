"""Operating limits: provider, region, family, quota, price list and discount."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from advice_samples import DAY
from venturi.cli.main import cli
from venturi.core.errors import VenturiError
from venturi.machines.advice.limits import Limits, limited, read_limits
from venturi.machines.catalog import Catalog, load_shipped

CURRENT = load_shipped("current")


def allowed(**limits: Any) -> Catalog:
    (found,) = limited([CURRENT], Limits(**limits), DAY)
    return found


def ask(*args: object) -> dict[str, Any]:
    done = CliRunner().invoke(cli, ["advise", "hardware", *map(str, args), "--json"])
    assert done.exit_code == 0, done.output
    (found,) = json.loads(done.stdout)["data"]["classes"]
    assert isinstance(found, dict)
    return found


def test_provider_region_and_family_select_types() -> None:
    assert {each.word("provider") for each in allowed(provider=("gcp",)).types.values()} == {"gcp"}
    assert set(allowed(region=("eastus",)).types) == set(allowed(provider=("azure",)).types)
    i4i = allowed(family=("i4i",)).types
    assert "i4i.8xlarge" in i4i
    assert all(name.startswith("i4i.") for name in i4i)
    assert set(allowed(family=("standard_l*_v3",)).types) >= {"Standard_L8s_v3", "Standard_L8as_v3"}
    for wrong in ({"provider": ("asw",)}, {"family": ("i4",)}, {"region": ("mars",)}):
        with pytest.raises(VenturiError, match="no type of the catalog has the"):
            allowed(**wrong)


def test_a_price_list_and_a_discount_change_prices_and_say_so(tmp_path: Path) -> None:
    prices = tmp_path / "prices.csv"
    prices.write_text("type,usd_per_hour\ni4i.8xlarge,2.00\n")
    found = allowed(prices=str(prices), discount=0.25)
    assert list(found.types) == ["i4i.8xlarge"]
    price = found.types["i4i.8xlarge"].fact("price")
    assert price.value == pytest.approx(1.5)
    assert price.source == "price list prices.csv"
    assert price.note == "2 less 0.25 of it"
    for wrong in ("", "type,usd_per_hour\n", "type,usd_per_hour\ni4i.8xlarge,free\n", "a,b\n1,2\n"):
        prices.write_text(wrong)
        with pytest.raises(VenturiError, match="price list"):
            allowed(prices=str(prices))


def test_the_file_of_limits_counts_and_options_take_precedence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "limits.toml"
    file.write_text('provider = ["aws"]\nmax_vcpus = 64\n')
    monkeypatch.setenv("VENTURI_LIMITS", str(file))
    options = ask("--sort", "1TB")["ranked"]
    assert {each["provider"] for each in options} == {"aws"}
    vcpus = {name: each.number("vcpus") for name, each in CURRENT.types.items()}
    assert all(each["nodes"] * (vcpus[each["instance_type"]] or 0) <= 64 for each in options)
    others = ask("--sort", "1TB", "--provider", "gcp", "--max-vcpus", 640)["ranked"]
    assert {each["provider"] for each in others} == {"gcp"}
    assert max(each["nodes"] * (vcpus[each["instance_type"]] or 0) for each in others) > 64


def test_every_mistake_of_the_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "limits.toml"
    file.write_text('providers = ["aws"]\ndiscount = 20\n')
    with pytest.raises(VenturiError) as caught:
        read_limits(file)
    assert caught.value.code == "VEN-LIMITS-FORMAT"
    assert set(caught.value.where) == {"file", "line 1", "line 2"}
    file.write_text('prices = "own.csv"\n')
    assert read_limits(file).prices == str(tmp_path / "own.csv")


def test_machines_without_disks_get_volumes_that_fill_their_path() -> None:
    found = ask("--sort", "10TB", "--family", "m6i", "--deadline", "3h")
    by_type = {each["instance_type"]: each for each in found["ranked"]}
    # 10 Gbit/s are ten volumes of 125 MiB/s
    assert by_type["m6i.8xlarge"]["volumes"] == "10 gp3"
    assert by_type["m6i.8xlarge"]["durability"] == "volumes"
    # 20 TB of input and output and 10 TB of shuffled data, by the month of 720 h
    option = by_type["m6i.8xlarge"]
    per_hour = 1.536 * option["nodes"] + 30e12 / 2**30 * 0.08 / 720
    assert option["metered_usd"]["value"] == pytest.approx(
        per_hour * option["time_s"]["value"] / 3600, rel=1e-3
    )
