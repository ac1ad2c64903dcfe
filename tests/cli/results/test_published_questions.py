"""Questions of the publications, each answered from their shipped tables by one command."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Venturi = Callable[..., tuple[int, str, str]]
Ask = Callable[..., Any]

HEADER = "workload,elapsed_s,engine,platform,nodes,container_memory_GiB,codec\n"


@pytest.fixture
def ask(venturi: Venturi) -> Ask:
    venturi("import", "published")

    def asked(*words: str) -> Any:
        status, stdout, stderr = venturi(*words, "--json")
        assert status == 0, stderr
        return json.loads(stdout)["data"]

    return asked


def test_four_vms_per_host_generate_data_fastest(ask: Ask) -> None:
    found = ask("rank", "--by", "platform", "--where", "workload=teragen")
    of = {group["name"]: group for group in found["groups"]}
    assert set(of) >= {"1 VM per host", "2 VMs per host", "4 VMs per host", "bare metal"}
    assert {group["set"] for group in of.values()} == {1}
    assert found["groups"][0]["name"] == "4 VMs per host"
    assert found["verdict"].startswith("4 VMs per host is fastest in Jaffe 2017 (4 min 02 s)")
    assert "source" not in found["held_equal"]
    assert {"nodes", "container_memory_GiB"} <= set(found["change_only_with_the_groups"])


def test_means_are_not_pooled_with_other_figures(ask: Ask) -> None:
    found = ask("rank", "--by", "platform", "--where", "workload=logistic-regression")
    assert "published_statistic" in found["held_equal"]
    assert found["groups"][0]["name"] == "4 VMs per host"
    assert found["groups"][0]["standing"] == "best"


def test_bare_metal_is_compared_with_virtual_machines(ask: Ask) -> None:
    found = ask("effect", "vms_per_host", "--where", "workload=terasort", "--baseline", "0")
    of = {effect["value"][0]: effect for effect in found["effects"]}
    assert {value: effect["strata"] for value, effect in of.items()} == {"1": 7, "2": 7, "4": 5}
    assert of["4"]["ratio"] == pytest.approx(0.977, abs=1e-3)
    assert all(effect["outcome"] != "confounded" for effect in of.values())


def test_hyper_threading_is_compared_across_figures(ask: Ask) -> None:
    found = ask("effect", "hyper_threading", "--where", "workload=pi")
    assert found["verdict"].startswith("hyper_threading false takes 18 % more time")
    assert "map_tasks follows from hyper_threading in all trials" in found["verdict"]


def test_curves_are_named_by_their_platform(ask: Ask) -> None:
    found = ask("scaling", "input_bytes", "--where", "workload=terasort", "--by", "platform")
    names = {group["name"] for group in found["groups"]}
    assert any("4 VMs per host" in name for name in names)
    assert not any("container_memory" in name for name in names)


def test_stages_of_a_publication_are_shown(ask: Ask, venturi: Venturi) -> None:
    where = ("--where", "workload=nweight", "--where", "shuffle_disk=11 HDD")
    (trial,) = ask("ls", *where)
    shown = venturi("show", trial["id"], "--stages")[1]
    assert "elapsed" in shown
    assert "17 foreach" in shown
    assert "23 min 00 s" in shown
    assert "page faults" not in shown


def test_keys_of_an_imported_platform_follow_from_it(venturi: Venturi, tmp_path: Path) -> None:
    table = tmp_path / "own.csv"
    rows = [
        (f"job{n}", n * seconds, "spark", name, nodes, memory, "zstd")
        for n in (1, 2, 3, 4)
        for name, nodes, memory, seconds in (("small", 8, 26, 100 + n), ("big", 2, 104, 60))
    ]
    lines = [",".join(map(str, row)) for row in rows]
    table.write_text(HEADER + "\n".join(lines) + "\n", encoding="utf-8")
    assert venturi("import", "table", str(table))[0] == 0
    status, stdout, stderr = venturi("effect", "platform")
    assert status == 0, stderr
    head = " ".join(stdout.splitlines()[:6])
    assert "container_memory_GiB, hosts and nodes follow from platform in all trials" in head
    assert "confounded" not in stdout
    assert "less time" in stdout or "more time" in stdout
