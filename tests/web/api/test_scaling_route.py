"""Scaling curves asked over HTTP: points, fits, limits and refusals."""

from __future__ import annotations

import httpx
import pytest
from analysis_requests import Add, around, ask, refused

from venturi.record.trial import Workload


def test_scaling_over_hosts_says_what_twice_as_many_bring_and_no_further_than_twice(
    client: httpx.Client, add: Add
) -> None:
    for hosts in (2, 4, 8, 16):
        add(around(30 + 800 / hosts, n=6), hosts=hosts, configuration={"disk": "SSD"})
    found = ask(client, "/api/scaling", x="hosts", to=32)
    (group,) = found["groups"]
    assert [point["x"] for point in group["points"]] == [2, 4, 8, 16]
    assert found["verdict"].startswith("twice the hosts (8 to 16) take 0.6")
    assert "at 32, beyond the measurements: about" in found["verdict"]
    assert (found["x_unit"], found["meaning"], found["total"]) == ("hosts", "resource", 1)
    inside = [point for point in group["curve"] if point["x"] <= 16]
    assert all(p["low_s"] < p["elapsed_s"] < p["high_s"] for p in inside)
    beyond = [point for point in group["curve"] if point["x"] > 16]
    assert beyond[-1]["x"] == pytest.approx(32)
    assert {(point["low_s"], point["high_s"]) for point in beyond} == {(None, None)}
    assert group["error_relative"] < 0.1
    assert group["formula"].startswith("t = ")
    assert (group["cliff"], group["reason"]) == (None, None)
    assert refused(client, "/api/scaling", x="hosts", to=33)["code"] == "VEN-MODEL-RANGE"
    two = ask(client, "/api/scaling", x="hosts", where=["hosts<5"])["groups"][0]
    assert (two["curve"], two["formula"]) == ([], None)
    assert two["reason"].startswith("2 measured values of x")
    assert refused(client, "/api/scaling", x="disk")["where"]["field"] == "x"
    assert "did you mean" in refused(client, "/api/scaling", x="host")["hint"]


def test_scaling_never_pools_sizes_machine_types_or_parameters(
    client: httpx.Client, add: Add
) -> None:
    for size, k in ((1, "3"), (1, "5"), (40, "3")):
        for hosts in (2, 4, 8, 12):
            add(
                [size * (10 + 400 / hosts)],
                hosts=hosts,
                workload=Workload("kmeans", "v1", None, size * 10**9),
                configuration={"nodes": hosts, "k": k},
            )
    found = ask(client, "/api/scaling", x="hosts")
    assert (found["by"], found["total"]) == (["input_bytes", "k"], 3)
    for group in found["groups"]:
        size = group["key"][0] / 10**9
        assert [p["elapsed_s"]["median"] for p in group["points"]] == pytest.approx(
            [size * (10 + 400 / hosts) for hosts in (2, 4, 8, 12)]
        )
    assert any("nodes grows in proportion to hosts" in text for text in found["warnings"])
    beside = ask(client, "/api/scaling", x="hosts", by="k")
    assert [group["key"][:2] for group in beside["groups"][:2]] == [["3", 10**9], ["5", 10**9]]
    later = ask(client, "/api/scaling", x="hosts", skip=2)
    assert (later["skip"], len(later["groups"]), later["total"]) == (2, 1, 3)
    assert later["groups"][0]["key"] == found["groups"][2]["key"]
    assert [one["skip"] for one in found["listed"]] == [0, 1, 2]


def test_scaling_of_more_curves_than_are_drawn_by_a_key_that_none_has(
    client: httpx.Client, add: Add
) -> None:
    for k in range(7):
        for hosts in (2, 4, 8):
            add([10 + 400 / hosts], hosts=hosts, configuration={"k": str(k)})
    add([10], hosts=1, workload=Workload("kmeans", "v1"), configuration={"net": "IB"})
    found = ask(client, "/api/scaling", x="hosts", by=["net", "k"], where="workload=terasort")
    assert found["total"] == 7
    (said,) = (text for text in found["warnings"] if text.startswith("7 curves, 6 at a time"))
    assert "such as to k=" in said


def test_scaling_cannot_tell_where_the_cluster_changes_with_the_hosts(
    client: httpx.Client, add: Add
) -> None:
    for hosts, cluster in ((3, "a"), (8, "b"), (16, "c"), (48, "d")):
        add(around(100 / hosts), hosts=hosts, configuration={"cluster": cluster})
    found = ask(client, "/api/scaling", x="hosts")
    assert found["groups"] == []
    assert found["verdict"].startswith("cannot tell: hosts changes only together with cluster")
    assert found["leave_out"] == ["cluster"]
    apart = ask(client, "/api/scaling", x="hosts", leave_out="cluster")
    assert apart["leave_out"] == []
    assert len(apart["groups"]) == 1
    assert any("ignored, as requested: cluster" in text for text in apart["warnings"])


def test_scaling_gives_an_amount_the_curve_of_an_amount(client: httpx.Client, add: Add) -> None:
    for size in (1000, 2000, 4000, 8000):
        add([20 + 0.05 * size], configuration={"data_size_MB": size, "buffer_bytes": 4096})
    found = ask(client, "/api/scaling", x="data_size_MB")
    assert found["meaning"] == "amount"
    assert found["groups"][0]["formula"] == "t = 20 s + 0.05 s * x"
    assert found["verdict"].startswith("twice the data_size_MB (4,000 to 8,000) takes 1.91")
    same = ask(client, "/api/scaling", x="buffer_bytes")
    assert same["verdict"] == "cannot tell: all 4 trials have the same buffer_bytes"


def test_scaling_says_where_no_trial_has_the_number(client: httpx.Client, add: Add) -> None:
    for hosts in (2, 4):
        add(around(100 / hosts), hosts=hosts, workload=Workload("sort", "v1", None, None))
    for asked, why in (
        ("input_bytes", "no trial of the selection has a value of input_bytes"),
        ("repetition", "repetition is a result of a trial, not a setting"),
    ):
        refused = client.get("/api/scaling", params={"x": asked})
        assert (refused.status_code, refused.json()["detail"]) == (422, why)
        assert "`venturi keys`" in refused.json()["hint"]


def test_names_of_machines_can_be_left_out_of_a_curve(client: httpx.Client, add: Add) -> None:
    for size, hosts in ((10, 2), (20, 5), (40, 6)):
        add([size], configuration={"data_size_MB": size}, hosts=hosts)
    found = ask(client, "/api/scaling", x="data_size_MB")
    assert set(found["leave_out"]) == {"hosts", "host_names"}
    for spelling in ("host_names", "host names"):
        apart = ask(client, "/api/scaling", x="data_size_MB", leave_out=["hosts", spelling])
        assert len(apart["groups"]) == 1


def test_scaling_over_data_finds_the_cliff(client: httpx.Client, add: Add) -> None:
    for size, seconds in enumerate((24.5, 37.6, 52.2, 157.4, 203.9, 274.4), start=1):
        add([seconds] * 5, workload=Workload("lr", "v1", f"{size} TB", size * 10**12))
    found = ask(client, "/api/scaling", x="input_bytes")
    (group,) = found["groups"]
    assert (group["cliff"]["below"], group["cliff"]["above"]) == (3e12, 4e12)
    assert group["cliff"]["jump"] == pytest.approx(2.39, rel=0.02)
    assert "97.5%" in group["cliff"]["evidence"]
    assert group["basis"].startswith("two lines")
    assert found["verdict"].startswith("between 3.0 TB and 4.0 TB the time jumps to 2.4 times")
    assert max(point["elapsed_s"] for point in group["curve"]) < 300
