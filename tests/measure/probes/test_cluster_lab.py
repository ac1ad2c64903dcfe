"""Probes of the hosts of a lab, over our own links, with one that breaks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from command_line import AGENT, venturi
from torture.measure.lab_remains import ADDRESSES, NAME, NEEDS
from venturi.measure.hosts.agent import Agent
from venturi.measure.hosts.remote import connected
from venturi.measure.lab import lab
from venturi.measure.lab.lab_file import lab_of
from venturi.measure.probes.members import ProbedHost
from venturi.measure.probes.net_cluster import ClusterNetJob, ClusterNetOptions
from venturi.measure.trial.runner import open_cluster_session, run_trial
from venturi.record.store.trial_store import NullRepository
from venturi.record.trial import State

pytestmark = [
    pytest.mark.root,
    pytest.mark.slow,
    pytest.mark.skipif(bool(NEEDS), reason="; ".join(NEEDS)),
]
LAB = f"""
name = "{NAME}"
[network]
rate = "200Mbit/s"
addresses = "{ADDRESSES}"
[[hosts]]
name = "h"
count = 3
[[hosts]]
name = "late"
rate = "40Mbit/s"
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a lab that is up."""
    home = tmp_path_factory.mktemp("probed")
    lab.up(lab_of(LAB, Path("lab.toml")), home, cores=2, agent=AGENT)
    yield home
    lab.down(home, NAME)


def test_the_slow_host_of_a_lab_is_the_first_thing_that_is_said(home: Path) -> None:
    done = venturi(
        "probe",
        "net",
        "--cluster",
        f"lab:{NAME}",
        "--max-time",
        "150ms",
        "--iterations",
        1,
        "--json",
        home=home,
        VENTURI_AGENT=str(AGENT),
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)["data"]
    assert said["verdicts"][0]["text"].startswith("this host is slow: late (")
    assert said["verdicts"][1]["source"] == "the cluster file"
    assert [row[0] is None for row in said["between_hosts"]["matrix"]] == [True] + [False] * 3
    assert (said["cluster"]["name"], said["cluster"]["network"]) == (NAME, "data")
    assert said["configuration"]["measured_over"] == "network"
    assert said["cluster"]["hosts"][3]["links"]["data"]["bytes_per_s"] == 5e6
    assert all(host["clock"]["error_s"] < 1 for host in said["cluster"]["hosts"])
    assert len([each for each in said["artifacts"] if each["kind"] == "series"]) == 4
    shown = venturi("show", "last", home=home)
    assert shown.stdout.startswith("network of 4 hosts: this host is slow: late (")


def test_a_link_that_breaks_in_mid_probe_costs_that_host_alone(home: Path) -> None:
    with ExitStack() as stack:
        agents = {}
        for name in ("h1", "h2", "h3"):
            brief = ["timeout", "--signal=KILL", "2.5"] if name == "h2" else []
            command = [*lab.enter(home, NAME, name), *brief, AGENT, "host"]
            host = stack.enter_context(connected(command, name))
            agents[name] = Agent(str(AGENT), host)
        session, lost = open_cluster_session(agents, NullRepository())
        assert not lost
        places = [
            ProbedHost(name, agents[name], ADDRESSES.replace(".0/24", f".{place}"))
            for place, name in enumerate(agents, start=1)
        ]
        options = ClusterNetOptions(seconds=0.2, iterations=4)
        trial = run_trial(session, ClusterNetJob(places, options, engine_version="test"))
    assert trial.state is State.INVALID
    assert trial.failure is not None
    assert trial.failure.message.startswith("host h2 was lost ")
    # The pairs of the others were measured in every round; those of h2 in some, or in none.
    assert len(trial.values("net_pair_bytes_per_s", **{"from": "h1", "to": "h3"})) == 4
    assert len(trial.values("net_pair_bytes_per_s", **{"from": "h1", "to": "h2"})) < 4
