"""`venturi show` of a trial on several hosts."""

from __future__ import annotations

from collections.abc import Callable

from command_line import venturi
from venturi.record.repository import Repository
from venturi.record.trial import Clock, Cluster, Host, Link, Rack, Trial
from venturi.settings import Settings


def test_hosts_links_racks_clocks_and_dilation(
    settings: Settings, make_trial: Callable[..., Trial]
) -> None:
    hosts = tuple(
        Host(
            name, {}, (role,), {"data": Link(address, 6.25e6)}, "r1", {"ssd": ("/ssd1", "/ssd2")},
            clock,
        )
        for name, role, address, clock in (
            ("h1", "master", "10.0.0.1", None),
            ("h2", "worker", "10.0.0.2", Clock(-1.2, 0.0003)),
        )
    )  # fmt: skip
    cluster = Cluster(
        hosts, name="aloja", network="data", racks=(Rack("r1", None, 1.25e9),), dilation=20.0
    )
    with Repository.open(settings) as repository:
        trial = make_trial(cluster=cluster, elapsed_s=40.0)
        repository.add(trial)
    shown = venturi("show", trial.id, home=settings.home)
    lines = [" ".join(line.split()) for line in shown.stdout.splitlines()]
    assert "cluster aloja, rates divided by 20" in lines
    real = "as on real machines 2.0 s (modelled: the time divided by k = 20)"
    assert real in lines
    assert "h1 master r1 data: 10.0.0.1 (50 Mbit/s) ssd: /ssd1 /ssd2 —" in lines
    assert "h2 worker r1 data: 10.0.0.2 (50 Mbit/s) ssd: /ssd1 /ssd2 -1.2 s ± 0.3 ms" in lines
    assert "r1 — 10 Gbit/s" in lines


def test_a_trial_of_one_host_says_nothing_of_a_cluster(
    settings: Settings, make_trial: Callable[..., Trial]
) -> None:
    with Repository.open(settings) as repository:
        trial = make_trial()
        repository.add(trial)
    shown = venturi("show", trial.id, home=settings.home).stdout
    assert "cluster" not in shown
    assert "roles" not in shown
