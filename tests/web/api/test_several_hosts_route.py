"""Results of a probe of several hosts, over HTTP: the heat map's data."""

from __future__ import annotations

from dataclasses import replace

import report_samples
from api_client import client_of
from venturi.core.settings import Settings
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import Cluster, Host, Sample


def test_a_trial_between_hosts_has_its_matrix_and_others_have_none(settings: Settings) -> None:
    pair = Sample("net_pair_bytes_per_s", 5e7, "B/s", labels={"from": "b", "to": "a"})
    between = replace(
        report_samples.trial(1, "netbench", "netbench"),
        cluster=Cluster((Host("a"), Host("b"))),
        samples=(pair,),
    )
    other = report_samples.trial(2, "terasort", "native")
    with TrialRepository.open(settings) as repository, client_of(repository) as client:
        repository.add_many([between, other])
        said = client.get(f"/api/trials/{between.id}").json()
        assert said["between_hosts"]["hosts"] == ["a", "b"]
        sent = {"bytes_per_s": 5e7, "least_bytes_per_s": 5e7, "n": 1}
        assert said["between_hosts"]["matrix"] == [[None, None], [sent, None]]
        assert said["disks_of_hosts"] is None
        assert client.get(f"/api/trials/{other.id}").json()["between_hosts"] is None
