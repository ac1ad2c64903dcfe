"""The shipped tables of publications: complete, marked, once, and as printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from venturi.core.errors import VenturiError
from venturi.core.settings import Settings
from venturi.record.importing.importer import import_file
from venturi.record.importing.tally import RefusalReason
from venturi.record.query.conditions import parse_condition
from venturi.record.query.counting import count
from venturi.record.query.faceting import facets
from venturi.record.query.grouping import group_by
from venturi.record.query.paging import whole_trials
from venturi.record.query.selection import Query
from venturi.record.starter import TABLES, import_starter, starter_present
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import ProvenanceKind, State, Trial

SOURCES = {
    "Poggi and Carrera 2015",
    "Jaffe 2017",
    "Buell 2011, as given by Sima",
    "Yu 2016",
    "Conley, Vahdat and Porter 2015",
}


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> list[Trial]:
    settings = Settings(tmp_path_factory.mktemp("starter"), None, None, allow_debug=False)
    with TrialRepository.open(settings) as repository:
        import_starter(repository)
        return whole_trials(repository)


def test_the_starter_is_imported_once(repository: TrialRepository) -> None:
    assert not starter_present(repository)
    first = import_starter(repository)
    assert (first.added, first.already_present, first.refused_count) == (187, 0, 0)
    assert (first.repeated, first.failed, first.alike) == (0, 0, 0)
    assert starter_present(repository)
    again = import_starter(repository)
    assert (again.added, again.already_present) == (0, 187)
    assert count(repository, Query()) == 187


def test_a_part_of_the_starter_is_not_the_starter(repository: TrialRepository) -> None:
    import_file(repository, "published", TABLES[0])
    assert not starter_present(repository)


def test_every_figure_is_marked_as_published(trials: list[Trial]) -> None:
    for trial in trials:
        assert trial.provenance.kind is ProvenanceKind.IMPORTED
        assert trial.workload.version.removeprefix("published: ") in SOURCES
        assert trial.provenance.source.startswith(trial.workload.version[len("published: ") :])
        assert trial.state is State.SUCCEEDED
        assert trial.started_at is None
        assert trial.configuration["published_statistic"]
        assert trial.warnings[0].code == "VEN-IMPORT-PUBLISHED"
        assert trial.warnings[0].message.startswith("published: ")
        assert trial.provenance.digest
    assert len({trial.group_key for trial in trials}) == len(trials), "each figure is one trial"
    means = [t for t in trials if t.configuration["published_statistic"] == "mean of 5"]
    assert len(means) == 36
    assert "the mean of 5 executions" in means[0].warnings[0].message


def only(trials: list[Trial], source: str, workload: str, **chosen: object) -> Trial:
    (trial,) = (
        t
        for t in trials
        if t.provenance.source == source
        and t.workload.name == workload
        and all(t.configuration.get(key) == value for key, value in chosen.items())
    )
    return trial


def test_figures_stand_as_they_were_printed(trials: list[Trial]) -> None:
    table2 = "Poggi and Carrera 2015, Table 2"
    first = only(trials, table2, "terasort", net="IB", disk="SS2")
    assert (first.elapsed_s, first.values("cost_usd")) == (207, [0.33])
    assert (len(first.cluster.hosts), first.workload.input_bytes) == (8, 10**11)
    assert first.cluster.hosts[0].facts["memory_total_bytes"] == 64 << 30
    noted = [t for t in trials if t.provenance.source == table2 and len(t.warnings) > 1]
    assert {(t.configuration["net"], t.configuration["disk"]) for t in noted} == {
        ("IB", "SSD"),
        ("IB", "HS5"),
        ("ETH", "SSD"),
    }
    sort = only(trials, "Jaffe 2017, Table 11", "terasort", vms_per_host=4)
    assert (sort.elapsed_s, sort.workload.input_records) == (2519.8, 10**11)
    assert sort.configuration["reduce_memory_MiB"] == 6656
    cliff = [
        only(trials, "Jaffe 2017, Table 21", "logistic-regression", dataset_TB=tb).elapsed_s
        for tb in range(1, 7)
    ]
    assert cliff == [24.5, 37.6, 52.2, 157.4, 203.9, 274.4]
    old = "Buell 2011, as given by Sima, Figure"
    validate = only(trials, f"{old} 5", "teravalidate", vms_per_host=4, dataset_TB=3.5)
    assert (validate.elapsed_s, validate.configuration["hyper_threading"]) == (3629, True)
    assert only(trials, f"{old} 4", "pi", vms_per_host=0).elapsed_s == 792
    nweight = only(trials, "Yu 2016, NWeight stages", "nweight", shuffle_disk="11 HDD")
    stages = nweight.values("stage_elapsed_s")
    assert (nweight.elapsed_s, len(stages), sum(stages)) == (5033, 10, 5033)
    assert nweight.values("stage_elapsed_s", stage="17 foreach") == [1380]
    assert nweight.values("stage_shuffle_read_bytes", stage="17 foreach") == [490.4e9]
    indy = only(trials, "Conley, Vahdat and Porter 2015, section 5.1", "sort")
    assert (indy.elapsed_s, len(indy.cluster.hosts)) == (888, 178)
    assert indy.values("network_bytes_per_s") == [879e6]


def test_the_other_tables_stand_as_they_were_printed(trials: list[Trial]) -> None:
    baidu = only(trials, "Yu 2016, Baidu NuoMi SQL stages", "nuomi-sql")
    assert baidu.elapsed_s is None
    assert len(baidu.values("stage_tasks")) == 20
    assert baidu.values("stage_input_bytes", stage="12") == [56.9e9]
    assert baidu.values("stage_shuffle_read_bytes", stage="13") == [36e9]
    iostat = only(trials, "Yu 2016, iostat during a shuffle", "nuomi-sql")
    assert iostat.values("iostat_reads", device="sdc") == [398]
    assert iostat.values("iostat_request_bytes", device="sdd") == [pytest.approx(237.07 * 512)]
    assert len(iostat.values("iostat_busy")) == 9
    disks = [t for t in trials if t.workload.name == "disk-specification"]
    assert len(disks) == 10
    p3700 = only(
        trials, "Yu 2016, specification of the SSD P3700", "disk-specification", capacity_GB=2000
    )
    assert p3700.values("random_read_70_write_30", block_bytes="4096") == [265_000]
    hdd = only(trials, "Yu 2016, specification of the HDD", "disk-specification")
    assert (hdd.values("seek"), hdd.values("rotational_latency")) == ([0.0085], [0.00416])
    profile = only(trials, "Yu 2016, Kryo profile, CPU samples", "kryo-profile")
    method = "com.esotericsoftware.kryo.util.IdentityObjectIntMap.get()"
    assert profile.values("method_self_share", method=method) == [23.3]
    assert profile.values("method_self_s", method=method) == [5326.482]
    said = only(trials, "Poggi and Carrera 2015, speedups in the text", "claims")
    assert len(said.values("speedup_percent")) == 14
    assert said.values("speedup_percent", of="InfiniBand against Ethernet, mean") == [60]
    tail = only(trials, "Conley, Vahdat and Porter 2015, section 5.3, tail of EBS", "ebs-read")
    assert (tail.elapsed_s, tail.values("node_read_s", nodes="95 %")) == (4000, [1400])
    phases = "Conley, Vahdat and Porter 2015, section 5.1, phases and probes"
    assert only(trials, phases, "sort").values("phase_s", part="map and shuffle") == [500]


def test_the_starter_answers_a_newcomer_s_questions(repository: TrialRepository) -> None:
    import_starter(repository)
    (source,) = facets(repository, Query(), ["source"])
    assert sum(each.n for each in source.values) == 187
    table2 = Query((parse_condition("source=Poggi and Carrera 2015, Table 2"),))
    groups = group_by(repository, table2, ["net", "disk"])
    assert {group.values: group.elapsed_s for group in groups}["ETH", "SSD"] == (348,)
    assert len(groups) == 8


HEADER = (
    "source,place,workload,input_bytes,input_records,engine,engine_version,cluster,hosts,"
    "instance_type,network,elapsed_s,cost_usd,statistic,note"
)


@pytest.mark.parametrize(
    ("row", "refused"),
    [
        ("A 2020,Table 1,sort,,,native,,c,0,,,1,,single,", ("hosts", "below 1")),
        ("A 2020,Table 1,sort,,,native,,c,1,,,0,,single,", ("elapsed_s", "not above 0")),
        ("A 2020,Table 1,sort,x,,native,,c,1,,,1,,single,", ("input_bytes", "not a number")),
        ("A 2020,,sort,,,native,,c,1,,,1,,single,", ("place", "empty")),
        (
            "A 2020,Table 1,sort,,,native,,c,1,,,1,,average,",
            ("statistic", "not a known statistic"),
        ),
    ],
)
def test_a_row_that_is_no_figure_is_refused(
    settings: Settings, tmp_path: Path, row: str, refused: tuple[str, str]
) -> None:
    table = tmp_path / "mine.csv"
    table.write_text(f"{HEADER}\n{row}\nA 2020,Table 1,sort,,,native,,c,1,,,1,,best,hm\n")
    with TrialRepository.open(settings) as repository:
        results = import_file(repository, "published", table)
        assert (results.added, results.reasons) == (1, (RefusalReason(*refused, 1),))
        (trial,) = whole_trials(repository)
    assert [w.message for w in trial.warnings][1:] == ["hm"]
    assert (trial.engine.version, trial.workload.input_bytes) == ("unknown", None)


@pytest.mark.parametrize(
    "column", ["disk", "configuration.", "sample.x", "sample.x..y", "host.a.b", "sample.a.b.c.d"]
)
def test_a_column_of_no_group_is_no_table(settings: Settings, tmp_path: Path, column: str) -> None:
    table = tmp_path / "mine.csv"
    row = "A 2020,Table 1,sort,,,native,,c,1,,,1,,best,"
    table.write_text(f"{HEADER},{column}\n{row},1\n")
    with TrialRepository.open(settings) as repository:
        with pytest.raises(VenturiError) as caught:
            import_file(repository, "published", table)
        assert caught.value.code == "VEN-IMPORT-FORMAT"
        assert whole_trials(repository) == []
