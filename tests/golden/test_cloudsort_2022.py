"""The record of CloudSort of 2022: 100 TB on 40 i4i.4xlarge, input and output on S3.

Exoshuffle-CloudSort (arXiv 2301.03734): 5,378 s and 97 USD in the mean, start of the cluster
excluded.
"""

from __future__ import annotations

import pytest

from venturi.machines.advice.hardware import predict
from venturi.machines.advice.option import option_of
from venturi.machines.advice.volumes import equipped
from venturi.machines.catalog import load_shipped
from venturi.machines.cost.choices import Durability, NetworkChoice
from venturi.machines.cost.job import sort_job
from venturi.machines.cost.operation import operated

TOOK_S, COST_USD = 5378.0, 97.0
CURRENT = equipped(load_shipped("current"))


def test_time_and_cost_of_the_record() -> None:
    job = operated(sort_job(100e12, Durability.OBJECTS), startup_s=0.0)
    found = predict(job, "current", CURRENT.types["i4i.4xlarge"], 40, NetworkChoice.AT_SCALE)
    option = option_of(found, 0, None)
    assert option.time_s.value == pytest.approx(TOOK_S, rel=0.25)
    assert option.usd.value == pytest.approx(COST_USD, rel=0.25)
    assert option.time_s.low <= TOOK_S <= option.time_s.high
    assert option.usd.low <= COST_USD <= option.usd.high
    assert [phase.narrowest for phase in option.phases] == ["network", "network"]
    bill = found.bill(40)
    assert bill is not None
    amounts = {item.name: item.amount for item in bill.items}
    # 100 TB are 6.25 million reads of 16 MB and a million writes of 100 MB
    assert amounts["read requests"] == pytest.approx(6.25e6 / 1000 * 0.0004)
    assert amounts["write requests"] == pytest.approx(1e6 / 1000 * 0.005)
    # 200 TB for the time of the job
    month_s = 720 * 3600
    assert amounts["objects"] == pytest.approx(200e3 * 0.023 * option.time_s.value / month_s)
    assert bill.metered == pytest.approx(option.usd.value, rel=1e-3)


def test_every_cloud_has_object_storage_with_its_gaps_named() -> None:
    assert {each.word("provider") for each in CURRENT.stores.values()} == {"aws", "gcp", "azure"}
    job = operated(sort_job(1e12, Durability.OBJECTS))
    on_azure = predict(job, "current", CURRENT.types["Standard_L8s_v3"], 4, NetworkChoice.AT_SCALE)
    left = option_of(on_azure, 0, None).left_out
    assert any("read requests is left out" in text for text in left)


def test_machines_without_disks_keep_the_shuffle_on_volumes() -> None:
    job = operated(sort_job(10e12, Durability.OBJECTS))
    found = predict(job, "current", CURRENT.types["m6i.8xlarge"], 40, NetworkChoice.AT_SCALE)
    option = option_of(found, 0, None)
    assert option.volumes == "10 gp3"
    bill = found.bill(40)
    assert bill is not None
    assert "volume capacity" in {item.name for item in bill.items}
