"""`venturi show` of a trial on several hosts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from api_client import client_of
from command_line import venturi
from venturi.core.settings import Settings
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import Clock, Cluster, Engine, Host, Link, PriceQuote, Rack, Sample, Trial


def test_hosts_links_racks_clocks_and_dilation(
    settings: Settings, make_trial: Callable[..., Trial]
) -> None:
    hosts = tuple(
        Host(
            name,
            {},
            (role,),
            {"data": Link(address, 6.25e6)},
            "r1",
            {"ssd": ("/ssd1", "/ssd2")},
            clock,
        )
        for name, role, address, clock in (
            ("h1", "master", "10.0.0.1", None),
            ("h2", "worker", "10.0.0.2", Clock(-1.2, 0.0003)),
        )
    )
    cluster = Cluster(
        hosts, name="aloja", network="data", racks=(Rack("r1", None, 1.25e9),), dilation=20.0
    )
    with TrialRepository.open(settings) as repository:
        trial = make_trial(cluster=cluster, elapsed_s=40.0)
        repository.add(trial)
    shown = venturi("show", trial.id, home=settings.home)
    lines = [" ".join(line.split()) for line in shown.stdout.splitlines()]
    assert "cluster aloja, rates divided by 20" in lines
    real = "as on real machines 2.0 s (modeled: the time divided by k = 20"
    assert f"{real}, if CPUs were slowed, too)" in lines
    assert "h1 master r1 data: 10.0.0.1 (50 Mbit/s) ssd: /ssd1 /ssd2 —" in lines
    assert "h2 worker r1 data: 10.0.0.2 (50 Mbit/s) ssd: /ssd1 /ssd2 -1.2 s ± 0.3 ms" in lines
    assert "r1 — 10 Gbit/s" in lines


@pytest.mark.parametrize(
    ("dilate_cpu", "slowed", "real"),
    [
        (True, "CPUs too", "2.0 s (modeled: the time divided by k = 20)"),
        (
            False,
            "CPUs not",
            "at least 2.0 s (modeled: the time divided by k = 20; CPUs were not slowed)",
        ),
    ],
)
def test_of_a_dilated_lab_it_is_said_how_far_its_time_holds(
    settings: Settings,
    make_trial: Callable[..., Trial],
    dilate_cpu: bool,
    slowed: str,
    real: str,
) -> None:
    cluster = Cluster((Host("h1"),), name="l", dilation=20.0, dilate_cpu=dilate_cpu)
    probe = Engine("diskbench", "1")
    with TrialRepository.open(settings) as repository:
        job = make_trial(cluster=cluster, elapsed_s=40.0)
        timed = make_trial(
            cluster=cluster,
            elapsed_s=40.0,
            engine=probe,
            workload=replace(job.workload, name="diskbench"),
        )
        repository.add_many([job, timed])

    def shown(trial: Trial) -> list[str]:
        found = venturi("show", trial.id, home=settings.home).stdout.splitlines()
        return [" ".join(line.split()) for line in found]

    assert f"cluster l, rates divided by 20, {slowed}" in shown(job)
    assert f"as on real machines {real}" in shown(job)
    assert not [line for line in shown(timed) if line.startswith("as on real machines")]


def test_a_bond_says_what_one_flow_gets(
    settings: Settings, make_trial: Callable[..., Trial]
) -> None:
    host = Host("h1", {}, ("worker",), {"data": Link("10.0.0.1", 5e8, 1.25e8)})
    with TrialRepository.open(settings) as repository:
        trial = make_trial(cluster=Cluster((host,), network="data"))
        repository.add(trial)
    shown = venturi("show", trial.id, home=settings.home).stdout
    assert "data: 10.0.0.1 (4 Gbit/s, one flow 1 Gbit/s)" in " ".join(shown.split())


def test_price_and_cost(settings: Settings, make_trial: Callable[..., Trial]) -> None:
    price = PriceQuote(1.376, "USD", "cluster-hour", "a price list", "2026-07-20")
    with TrialRepository.open(settings) as repository:
        trial = make_trial(
            cluster=Cluster((Host("h", {}),), price=price),
            elapsed_s=36.0,
            samples=(Sample("cost_usd", 0.01376, "USD"),),
        )
        repository.add(trial)
    lines = [
        " ".join(each.split())
        for each in venturi("show", trial.id, home=settings.home).stdout.splitlines()
    ]
    assert "price 1.376 USD per cluster-hour (a price list; 2026-07-20)" in lines
    assert "cost 0.01376 USD" in lines
    with TrialRepository.open(settings) as repository, client_of(repository) as client:
        seen = client.get(f"/api/trials/{trial.id}").json()["cost"]
    assert seen == {"text": "0.01376 USD", "missing_reason": None, "basis": None}, (
        "the page says the same"
    )


def test_a_cost_that_is_not_known_says_why(
    settings: Settings, make_trial: Callable[..., Trial]
) -> None:
    why = "the cluster is emulated, with its rates divided by 20"
    of_a_part = Sample("cost_usd", 3.0, "USD", "sort")
    with TrialRepository.open(settings) as repository, client_of(repository) as client:
        plain = make_trial(id="plain", samples=(of_a_part,))
        trial = make_trial(
            id="trial", samples=(of_a_part, Sample("cost_usd", None, "USD", missing_reason=why))
        )
        repository.add_many([plain, trial])
        assert client.get("/api/trials/plain").json()["cost"] is None
        seen = client.get("/api/trials/trial").json()["cost"]
    assert seen == {"text": None, "missing_reason": why, "basis": None}
    shown = " ".join(venturi("show", "trial", home=settings.home).stdout.split())
    assert f"cost not known: {why}" in shown
    lines = venturi("show", "plain", home=settings.home).stdout.splitlines()
    assert not any(line.split()[:1] == ["cost"] for line in lines), "that of a part is another"


def test_a_trial_of_one_host_says_nothing_of_a_cluster(
    settings: Settings, make_trial: Callable[..., Trial]
) -> None:
    with TrialRepository.open(settings) as repository:
        trial = make_trial()
        repository.add(trial)
    shown = venturi("show", trial.id, home=settings.home).stdout
    assert "cluster" not in shown
    assert "roles" not in shown
