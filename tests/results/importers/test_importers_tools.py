"""fio, iperf3, hyperfine, PerfKit's probes and a user's own table: trials and probes of them."""

from __future__ import annotations

import hashlib
import io
import json
import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from venturi.core.errors import VenturiError
from venturi.machines.cost.probe_runs import newest_runs
from venturi.record.importing.formats import FORMATS
from venturi.record.importing.importer import import_file
from venturi.record.importing.items import ImportedItem, ImportSource, Spelling
from venturi.record.importing.recognise import recognise
from venturi.record.importing.text import Refusal
from venturi.record.query.paging import whole_trials
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import State, Trial
from venturi.record.trial_json import decode, encode

DATA = Path(__file__).parents[2] / "data"
CASE = DATA / "cases/other-suites"
FIO, IPERF3 = DATA / "results/fio/jobs.json", DATA / "results/iperf3/runs.json"


def read(format: str, content: bytes | str | Path, *columns: str) -> list[ImportedItem]:
    if isinstance(content, Path):
        content = content.read_bytes()
    data = content.encode() if isinstance(content, str) else content
    source = ImportSource("file", hashlib.sha256(data).hexdigest())
    more = (columns,) if columns else ()
    return list(FORMATS[format].reader.read(io.BytesIO(data), source, *more))


def trials(items: list[ImportedItem]) -> list[Trial]:
    return [item for item in items if isinstance(item, Trial)]


def refused(items: list[ImportedItem]) -> list[Refusal]:
    return [item for item in items if isinstance(item, Refusal)]


def test_other_suites() -> None:
    (probe,) = trials(read("fio", CASE / "fio.json"))
    assert (probe.workload.name, probe.engine.name, probe.engine.version) == (
        "diskbench",
        "fio",
        "3.33",
    )
    shape: dict[str, Any] = {"block_bytes": 4096, "queue_depth": 32, "jobs": 4}
    assert probe.values("disk_random_read_bytes_per_s", **shape) == [715_827_882]
    assert probe.values("disk_random_read_iops", **shape) == [174_762.6]
    assert probe.values("disk_latency_s", quantile="p99") == [1.204224e-3]
    (jar,) = trials(read("pkb", CASE / "pkb-spark-jar.json"))
    assert (jar.elapsed_s, jar.engine.name) == (32.69, "spark")
    (pkb,) = trials(read("pkb", CASE / "pkb-fio.json"))
    assert (pkb.workload.name, pkb.engine.name, pkb.elapsed_s) == ("diskbench", "fio", None)
    assert pkb.values("disk_write_bytes_per_s") == [pytest.approx(62_581.2 * 1024)]
    assert pkb.values("disk_random_read_iops") == [15_001.0]
    found = trials(read("hyperfine", CASE / "hyperfine.json"))
    assert [each.elapsed_s for each in found] == [19.8, 20.0, 20.5, 21.8, 22.0, 22.5]
    assert {each.configuration["parts"] for each in found} == {"8", "16"}
    columns = ("elapsed_s=seconds", "workload=workload", "engine=engine", "nodes=nodes")
    more = ("instance_type=instance_type", "input_bytes=input_gb:GB", "repetition=run")
    own = trials(read("table", CASE / "own-trials.csv", *columns, *more, "state=status"))
    assert len({each.id for each in own}) == 24
    assert (own[0].elapsed_s, own[0].workload.input_bytes) == (601.0, 10**12)
    assert own[0].configuration == {"disk": "nvme", "nodes": 4}  # the date is its start
    assert len({each.group_key for each in own}) == 8


@pytest.mark.parametrize("name", ["fio", "hyperfine", "pkb-fio", "pkb-spark-jar"])
def test_other_suites_are_recognized_and_stored_once(
    name: str, repository: TrialRepository
) -> None:
    path = CASE / f"{name}.json"
    format_ = recognise(path).name
    first = import_file(repository, format_, path)
    assert (first.added > 0, first.refused_count) == (True, 0)
    assert import_file(repository, format_, path).already_present == first.added
    for each in trials(read(format_, path)):
        assert repository.get(each.id).samples == each.samples


def fio(*jobs: dict[str, Any], **changes: Any) -> str:
    head = {"fio version": "fio-3.33", "timestamp": 1_700_000_000, "global options": {}}
    return json.dumps(head | changes | {"jobs": jobs})


def job(rw: str | None = "read", **changes: Any) -> dict[str, Any]:
    section = {"io_bytes": 1 << 30, "bw_bytes": 1e8, "iops": 100.0, "runtime": 10_000}
    options = {} if rw is None else {"job options": {"rw": rw, "direct": "1", "bs": "1M"}}
    return {"jobname": "a", "groupid": 0, "error": 0, "read": section} | options | changes


def test_fio_jobs_of_a_run() -> None:
    sequential, random, mixed = trials(read("fio", FIO))
    assert sequential.values("disk_read_bytes_per_s", block_bytes=1 << 20, queue_depth=8)
    assert random.values("disk_random_read_iops", block_bytes=4096, queue_depth=16, jobs=2)
    # psync, fio's default engine, has one request under way whatever the depth.
    assert mixed.values("disk_mixed_read_bytes_per_s", block_bytes=512 << 10, queue_depth=1)
    assert mixed.values("disk_mixed_write_bytes_per_s", block_bytes=512 << 10)
    assert sequential.started_at == datetime(2026, 11, 28, 2, 26, 26, 237_000, UTC)
    assert sequential.cluster.disks_by_role == {"input": ("d",), "output": ("d",)}
    for each in (sequential, random, mixed):
        assert decode(encode(each)) == each


def test_fio_text_around_the_json_and_several_runs() -> None:
    text = f"fio: this platform has no X\n{fio(job())}\nnote: done\n{fio(job('write'))}{fio(job())}"
    assert len(trials(read("fio", text))) == 3
    assert len(trials(read("fio", f"[{fio(job())},\n{fio(job('randread'))}]"))) == 2


def test_fio_reports_of_a_run_under_way_are_not_trials() -> None:
    begun = 1_700_000_000
    reports = [
        fio(job(elapsed=n, read={"io_bytes": n << 27, "bw_bytes": 1e8 - n}), timestamp=begun + n)
        for n in (10, 20, 30)
    ]
    items = read("fio", "\n".join(reports))
    (trial,) = trials(items)
    assert trial.values("disk_read_bytes_per_s") == [1e8 - 30]
    assert ["interim report" in each.reason for each in refused(items)] == [True, True]
    # The same job once more, later, is another run.
    again = fio(job(elapsed=10), timestamp=begun + 500)
    assert len(trials(read("fio", f"{reports[0]}\n{again}"))) == 2


def test_fio_a_truncated_run_keeps_its_whole_jobs() -> None:
    text = json.dumps(json.loads(FIO.read_text()), indent=2)
    items = read("fio", text[: text.index('"jobname": "mixed"')])
    assert [each.configuration["job"] for each in trials(items)] == ["seqread", "rr"]
    (refusal,) = refused(items)
    assert refusal.value == "after 2 jobs"
    with pytest.raises(VenturiError) as caught:
        read("fio", text[:300])
    assert caught.value.code == "VEN-IMPORT-FORMAT"


def test_fio_versions_before_3_have_other_units_and_no_options() -> None:
    old = {
        "jobname": "random-read",
        "groupid": 0,
        "error": 0,
        "read": {
            "io_bytes": 7116,
            "bw": 275,
            "iops": 68.99,
            "runtime": 25_788,
            "clat": {"max": 900, "mean": 80.5, "percentile": {"99.000000": 500}},
        },
    }
    (trial,) = trials(read("fio", fio(old, **{"fio version": "fio-2.2.10"})))
    assert trial.values("disk_random_read_bytes_per_s") == [275 * 1024]
    assert trial.values("disk_latency_s", quantile="p99") == [pytest.approx(0.0005)]
    assert "the job's name says randread" in trial.warnings[0].message


def test_fio_processes_of_one_job_are_one_trial() -> None:
    options: dict[str, Any] = {"job options": {"rw": "write", "numjobs": "4", "direct": "1"}}
    written = {"write": job()["read"], "read": {}}
    four = trials(read("fio", fio(*(job() | options | written for _ in range(4)))))
    assert [each.values("disk_write_bytes_per_s", jobs=4) for each in four] == [[4e8]]
    assert [s.missing_reason for s in four[0].samples if s.metric == "disk_latency_s"] == [
        "each of 4 processes has percentiles of its own"
    ]
    # Other jobs of a group run concurrently: their rates are of a shared disk.
    two = trials(read("fio", fio(job(), job("randread", jobname="b"))))
    assert all(s.labels["concurrent_jobs"] == 1 for each in two for s in each.samples)


def group(runtime_ms: int, options: dict[str, str], shared: dict[str, str], **more: Any) -> Trial:
    """A group of jobs that fio printed as one, with the options of the last and of [global]."""
    fields = {"job_runtime": runtime_ms, "job options": options, **more}
    (trial,) = trials(read("fio", fio(job() | fields, **{"global options": shared})))
    return trial


def test_fio_unlike_jobs_of_a_group_have_no_label_of_one_of_them() -> None:
    own = {"rw": "randread", "bs": "16k", "iodepth": "32"}
    unlike = group(13_000, own, {"ioengine": "libaio", "direct": "1"})  # 10 s and 3 s
    assert unlike.values("disk_unknown_read_bytes_per_s") == [1e8]
    assert {key: unlike.configuration[key] for key in own} == dict.fromkeys(own, "mixed")
    assert all(each.labels["block_bytes"] is None for each in unlike.samples)
    assert all(each.labels["queue_depth"] is None for each in unlike.samples)
    assert "not rw, bs, iodepth" in unlike.warnings[0].message
    # One job that reads can't write: another one of its group did, at whatever length.
    written = {"write": job()["read"]}
    assert group(10_000, own, {}, **written).configuration["rw"] == "mixed"


def test_fio_like_jobs_of_a_group_keep_their_labels() -> None:
    own = {"rw": "randread", "bs": "4k", "iodepth": "4", "numjobs": "4"}
    direct = {"ioengine": "libaio", "direct": "1"}
    four = group(39_998, own, direct)
    assert four.values("disk_random_read_iops", block_bytes=4096, queue_depth=4, jobs=4) == [100.0]
    # Only their files differ.
    two = group(20_000, {"filename": "b"}, {"rw": "read", "bs": "1m", **direct})
    assert two.values("disk_read_bytes_per_s", block_bytes=1 << 20) == [1e8]
    assert two.configuration["filename"] == "mixed"
    verified = group(20_000, {"rw": "write", "verify": "md5", "direct": "1"}, {})
    assert verified.configuration["rw"] == "write"


def test_fio_a_block_size_that_the_requests_contradict_is_unknown() -> None:
    section = job()["read"] | {"total_ios": (1 << 30) // 4096}
    for bs, size in (("4k", 4096), ("64k", None)):
        options = {"rw": "read", "bs": bs, "direct": "1"}
        (trial,) = trials(read("fio", fio(job() | {"job options": options, "read": section})))
        assert [each.labels["block_bytes"] for each in trial.samples[:2]] == [size, size]


@pytest.mark.parametrize("options", [{"zoneskip": "1m", "rw": "read"}, {"rw": "read:8k"}])
def test_fio_jobs_that_leave_gaps_give_no_sequential_rate(options: dict[str, str]) -> None:
    (trial,) = trials(read("fio", fio(job() | {"job options": {"direct": "1", **options}})))
    assert trial.values("disk_read_bytes_per_s") == [1e8]
    assert [each.samples for each in newest_runs([trial]).trials] == [()]


@pytest.mark.parametrize("option", ["rate_iops", "latency_target"])
def test_fio_jobs_that_hold_back_give_no_rate_of_the_disk(option: str) -> None:
    options = {"rw": "read", "direct": "1", "iodepth": "32", "ioengine": "libaio", option: "500"}
    (limited,) = trials(read("fio", fio(job() | {"job options": options})))
    assert limited.values("disk_read_bytes_per_s", limited=f"{option}=500") == [1e8]
    runs = newest_runs([limited])
    assert [each.samples for each in runs.trials] == [()]
    depth = limited.samples[0].labels["queue_depth"]
    assert depth == (None if option == "latency_target" else 32)


def test_fio_a_reader_and_a_writer_are_both_sides_of_read_write() -> None:
    written = {"write": job()["read"], "read": {}}
    reader, writer = trials(read("fio", fio(job(), job("write", jobname="b", **written))))
    assert reader.values("disk_mixed_read_bytes_per_s") == [1e8]
    assert writer.values("disk_mixed_write_bytes_per_s") == [1e8]


def test_fio_failed_and_idle_jobs() -> None:
    idle = {"io_bytes": 0, "bw_bytes": 0, "iops": 0.0, "runtime": 0}
    failed, *others = read(
        "fio", fio(job(error=28, read=idle), job(jobname="b", read=idle), job(jobname="c"))
    )
    assert isinstance(failed, Trial)
    assert failed.state is State.FAILED
    assert failed.failure is not None
    assert failed.failure.message == "fio reports error 28: No space left on device"
    assert [each.reason for each in refused(others)] == ["the job moved no data"]
    assert len(trials(others)) == 1
    instant = {"io_bytes": 4096, "bw_bytes": 0, "iops": 0.0, "runtime": 0}
    (refusal,) = refused(read("fio", fio(job(read=instant))))
    assert refusal.value == "runtime 0"


@pytest.mark.parametrize(
    ("written", "size"),
    [
        ("4k", 4096),
        ("1m", 1 << 20),
        ("65536", 65536),
        ("4KB", 4096),
        ("4kib", 4000),  # fio's units are the wrong way round by default
        ("8k,64k", 8192),
        ("many", None),
    ],
)
def test_fio_block_sizes(written: str, size: int | None) -> None:
    options = {"rw": "read", "bs": written, "direct": "1"}
    (trial,) = trials(read("fio", fio(job() | {"job options": options})))
    (sample,) = (each for each in trial.samples if each.metric == "disk_read_bytes_per_s")
    assert sample.labels["block_bytes"] == size


def test_fio_buffered_rates_are_marked() -> None:
    options = {"job options": {"rw": "read"}}
    (trial,) = trials(read("fio", fio(job() | options)))
    assert "VEN-IMPORT-CACHED" in [each.code for each in trial.warnings]


def test_fio_clients_are_hosts() -> None:
    run = json.loads(fio())
    run["client_stats"] = [job(hostname=name) for name in ("h1", "h2")]
    run["client_stats"].append(job(jobname="All clients"))
    del run["jobs"]
    found = trials(read("fio", json.dumps(run)))
    assert [each.cluster.hosts[0].name for each in found] == ["h1", "h2"]


def test_iperf3_runs() -> None:
    parallel, reverse, both, udp, failed = trials(read("iperf3", IPERF3))
    assert parallel.values("net_pairwise_bytes_per_s", streams=2, slowest=False) == [
        pytest.approx(743_514_632, rel=1e-6)
    ]
    assert reverse.values("net_pairwise_bytes_per_s", direction="from server")
    assert both.values("net_all_to_all_bytes_per_s", slowest=True) == [
        min(both.values("net_bidirectional_bytes_per_s"))
    ]
    assert udp.values("net_udp_lost") == [pytest.approx(90 / 761)]
    assert udp.values("net_pairwise_bytes_per_s") == []
    assert udp.configuration["target_bits_per_s"] == 100_000_000
    assert (failed.state, failed.elapsed_s) == (State.FAILED, None)
    assert failed.failure is not None
    assert "unable to connect" in failed.failure.message
    for each in (parallel, reverse, both, udp):
        assert each.configuration["loopback"] is True
        assert each.cluster.hosts[0].name == "vm"
        assert decode(encode(each)) == each


def iperf3(protocol: str = "TCP", *, reverse: int = 0, server: bool = False, **sums: Any) -> str:
    party = {"accepted_connection": {}} if server else {"connecting_to": {"host": "h"}}
    test = {"protocol": protocol, "num_streams": 4, "reverse": reverse}
    return json.dumps({"start": {"connected": [], "test_start": test, **party}, "end": sums})


@pytest.mark.parametrize(("reverse", "direction"), [(0, "to server"), (1, "from server")])
def test_iperf3_names_who_sends(reverse: int, direction: str) -> None:
    sent = {"bits_per_second": 8e9, "retransmits": 10}
    (tcp,) = trials(read("iperf3", iperf3(reverse=reverse, sum_sent=sent, sum_received=sent)))
    (udp,) = trials(read("iperf3", iperf3("UDP", reverse=reverse, sum=sent, sum_received=sent)))
    assert tcp.values("net_retransmits", direction=direction) == [10]
    assert tcp.values("net_pairwise_bytes_per_s", direction=direction, streams=4) == [1e9]
    assert {each.labels["direction"] for each in (*tcp.samples, *udp.samples)} == {direction}


def test_iperf3_data_that_never_arrived_gives_no_rate() -> None:
    sums = {"sum_sent": {"bits_per_second": 8e9}, "sum_received": {"bits_per_second": 0}}
    (refusal,) = refused(read("iperf3", iperf3(**sums)))
    assert refusal.field == "end.sum_received.bits_per_second"
    assert "the receiver counted no data" in refusal.reason


def test_iperf3_in_both_directions_as_the_server_prints_it() -> None:
    """The server doesn't know what arrived of its own data."""
    sums = {"sum_sent": {"bits_per_second": 0}, "sum_received": {"bits_per_second": 8e9}}
    back = {"bits_per_second": 4e9, "retransmits": 12}
    sums |= {"sum_sent_bidir_reverse": back}
    sums |= {"sum_received_bidir_reverse": {"bits_per_second": 0}}
    (trial,) = trials(read("iperf3", iperf3(server=True, **sums)))
    assert trial.values("net_bidirectional_bytes_per_s", direction="to server") == [1e9]
    assert trial.values("net_bidirectional_bytes_per_s", direction="from server") == [5e8]
    assert trial.values("net_retransmits", direction="from server") == [12]
    assert "only the sender's rate is known" in trial.warnings[0].message


@pytest.mark.parametrize(("server", "lost"), [(True, []), (False, [1.0])])
def test_iperf3_udp_that_did_not_arrive(server: bool, lost: list[float]) -> None:
    sent = {"bits_per_second": 8e6, "packets": 100, "lost_percent": 0}
    none = {"bits_per_second": 0, "packets": 0, "lost_percent": 0}
    text = iperf3("UDP", reverse=1, server=server, sum=sent, sum_sent=sent, sum_received=none)
    (trial,) = trials(read("iperf3", text))
    assert trial.values("net_udp_lost", direction="from server") == lost
    assert trial.values("net_udp_sent_bytes_per_s", direction="from server") == [1e6]


@pytest.mark.parametrize(
    ("format", "text", "why"),
    [
        ("iperf3", IPERF3.read_text()[:1200], "no whole run of iperf3: the JSON is cut off"),
        ("fio", FIO.read_text()[:700], "no whole job of fio: the JSON is cut off after"),
        ("fio", FIO.read_text()[:703].rstrip(), "no whole job of fio: the JSON is cut off after"),
    ],
)
def test_cut_json_is_named_as_such(format: str, text: str, why: str) -> None:
    with pytest.raises(VenturiError, match=why):
        read(format, text)


def test_iperf3_stream_of_events() -> None:
    run = json.loads(IPERF3.read_text().partition("\n}\n")[0] + "\n}")
    lines = [{"event": "start", "data": run["start"]}, {"event": "interval", "data": {}}]
    lines.append({"event": "end", "data": run["end"]})
    text = "".join(json.dumps(each) + "\n" for each in lines)
    (streamed,) = trials(read("iperf3", text))
    assert streamed.samples == trials(read("iperf3", IPERF3))[0].samples


def test_iperf3_an_interrupted_run_keeps_what_it_measured() -> None:
    run = json.loads(IPERF3.read_text().partition("\n}\n")[0] + "\n}")
    stopped = run | {"error": "interrupt - the client has terminated"}
    (trial,) = trials(read("iperf3", json.dumps(stopped)))
    assert (trial.state, len(trial.values("net_pairwise_bytes_per_s"))) == (State.FAILED, 1)
    (refusal,) = refused(read("iperf3", json.dumps(run | {"end": {}})))
    assert "no rate" in refusal.reason


def pkb(test: str, *samples: tuple[str, float, str], labels: str = "") -> str:
    return "".join(
        json.dumps(
            {
                "metric": metric,
                "value": value,
                "unit": unit,
                "timestamp": 1_700_000_000,
                "test": test,
                "run_uri": "r",
                "labels": labels,
            }
        )
        + "\n"
        for metric, value, unit in samples
    )


def test_pkb_rates_over_public_addresses_are_of_another_path() -> None:
    paths = (("internal", 8000.0), ("external", 4000.0))
    lines = {
        name: pkb("iperf", ("Throughput", rate, "Mbits/sec"), labels=f"|ip_type:{name}|")
        for name, rate in paths
    }
    both = lines["internal"] + lines["external"]
    for text, rate in ((both, 1e9), (lines["external"], 5e8)):
        (trial,) = trials(read("pkb", text))
        assert trial.values("net_pairwise_bytes_per_s") == [pytest.approx(rate)]


def test_pkb_network_probes() -> None:
    labels = "|sending_thread_count:4|,|runtime_in_seconds:60|,|sending_machine_type:n2|"
    (trial,) = trials(read("pkb", pkb("iperf", ("Throughput", 8000.0, "Mbits/sec"), labels=labels)))
    assert (trial.workload.name, trial.engine.name, trial.elapsed_s) == ("netbench", "iperf", 60.0)
    assert trial.values("net_pairwise_bytes_per_s", streams=4) == [1e9]
    assert trial.cluster.instance_type == "n2"
    samples = (("TCP_RR_Transaction_Rate", 9000.0, "transactions_per_second"),)
    streams = tuple(
        (f"TCP_STREAM_Throughput_{name}", value, "Mbits/sec")
        for name, value in (("p50", 100.0), ("total", 800.0))
    )
    (netperf,) = trials(read("pkb", pkb("netperf", *samples, *streams)))
    assert netperf.values("net_pairwise_bytes_per_s") == [1e8]
    assert netperf.values("TCP_RR_Transaction_Rate") == [9000.0]


def test_a_longer_file_of_a_run_updates_its_trial(
    repository: TrialRepository, tmp_path: Path
) -> None:
    file = tmp_path / "samples.json"
    first, second, other = (("Throughput", each, "Mbits/sec") for each in (8e3, 6e3, 7e3))
    outcomes = []
    for samples in ((first,), (first, second), (first,), (other,)):
        file.write_text(pkb("iperf", *samples))
        report = import_file(repository, "pkb", file)
        outcomes.append((report.added, report.updated, report.sound))
    assert outcomes == [(1, 0, True), (0, 1, True), (0, 0, True), (0, 0, False)]
    (trial,) = whole_trials(repository)
    assert trial.values("net_pairwise_bytes_per_s") == [1e9, 7.5e8]


def test_pkb_disk_probe_has_latencies_and_shapes() -> None:
    labels = "|rw:randread|,|bs:4k|,|iodepth:16|,|runtime:30|"
    samples = (("job1:read:iops", 5000.0, ""), ("job1:read:latency:p99", 900.0, "usec"))
    (trial,) = trials(read("pkb", pkb("fio", *samples, labels=labels)))
    shape: dict[str, Any] = {"block_bytes": 4096, "queue_depth": 16}
    assert trial.values("disk_random_read_iops", **shape) == [5000.0]
    assert trial.values("disk_latency_s", quantile="p99") == [pytest.approx(9e-4)]


def test_hyperfine_failed_runs() -> None:
    result = {"command": "false", "times": [1.0, 2.0], "exit_codes": [0, 1], "mean": 1.5}
    good, bad = trials(read("hyperfine", json.dumps({"results": [result]})))
    assert (good.state, good.elapsed_s) == (State.SUCCEEDED, 1.0)
    assert (bad.state, bad.values("time_to_failure_s")) == (State.FAILED, [2.0])
    (refusal,) = refused(read("hyperfine", '{"results": [{"command": "a"}]}'))
    assert refusal.reason == "no list of times"
    short = {**result, "exit_codes": [0]}
    items = read("hyperfine", json.dumps({"results": [short]}))
    assert [each.elapsed_s for each in trials(items)] == [1.0]
    assert "no exit code" in refused(items)[0].reason


TABLE = (
    "when;job;minutes;ok;exit\n"
    "2026-05-01T10:00:00+00:00;sort;1.5;yes;0\n"
    "2026-05-02;sort;2;failed;1\n"
)


def test_own_table_with_units_states_and_dates() -> None:
    columns = ("elapsed_s=minutes:min", "workload=job", "started_at=when", "state=ok")
    good, bad = trials(read("table", TABLE, *columns))
    assert (good.elapsed_s, good.workload.name, good.configuration) == (90.0, "sort", {})
    assert good.started_at == datetime(2026, 5, 1, 10, tzinfo=UTC)
    assert (bad.state, bad.values("time_to_failure_s")) == (State.FAILED, [120.0])
    assert [each.code for each in bad.warnings] == ["VEN-IMPORT-CLOCK"]


@pytest.mark.parametrize(
    ("column", "seconds"),
    [
        ("time (ms)", 0.0125),
        ("Time [Minutes]", 750.0),
        ("runtime_ms", 0.0125),
        ("hours", 45_000.0),
        ("time", 12.5),
        ("time (average)", 12.5),
        ("time (ms):s", 12.5),
        ("time:sec", 12.5),
        ("time:h", 45_000.0),
    ],
)
def test_own_table_units(column: str, seconds: float) -> None:
    header = column.partition(":")[0]
    (trial,) = trials(read("table", f"{header}\n12.5\n", f"elapsed_s={column}"))
    assert trial.elapsed_s == pytest.approx(seconds)
    sizes = {"input_gb": 10**9, "size (GiB)": 1 << 30, "bytes": 1, "size:gb": 10**9}
    for size, factor in sizes.items():
        text = f"t,{size.partition(':')[0]}\n1,2\n"
        (trial,) = trials(read("table", text, "elapsed_s=t", f"input_bytes={size}"))
        assert trial.workload.input_bytes == 2 * factor


def test_own_table_of_a_spreadsheet() -> None:
    text = (
        "sep=;\n"
        "Our runs, in May;;;;\n"
        "job;Dauer (s);ratio;ratio;\n"
        "sort;1.234,5;0,5;1,5;\n"
        ";;;;\n"
        "sort;1.234;2;3;\n"
    )
    items = read("table", text, "elapsed_s=Dauer (s)", "workload=job")
    first, second = trials(items)
    assert (first.elapsed_s, second.elapsed_s) == (1234.5, 1234.0)
    assert first.configuration == {"ratio": 0.5, "ratio (2)": 1.5}
    assert [each.reason for each in refused(items)] == ["a line above the header"]
    assert [each.taken_as for each in items if isinstance(each, Spelling)] == ["1234.5"]


def test_own_table_in_utf_16(tmp_path: Path, repository: TrialRepository) -> None:
    """Excel's "Unicode text", and whatever PowerShell redirects to a file."""
    fio_json = tmp_path / "fio.json"
    fio_json.write_text(FIO.read_text(), "utf-16")
    assert recognise(fio_json).name == "fio"
    assert import_file(repository, "fio", fio_json).added == 3


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ((), "must say which column has the time: when, job"),
        (("workload=job",), "must say which column has the time"),
        (("elapsed_s=seconds",), "no column 'seconds': when, job"),
        (("elapsed_s",), "is not FIELD=COLUMN"),
        (("elapsed_s=minutes", "elapsed_s=ok"), "its field is there twice"),
        (("elapsed_s=minutes:lightyears",), "'lightyears' is not a unit of elapsed_s: use ns, us"),
        (("elapsed_s=minutes", "ratio=exit:GB"), "ratio takes no unit, such as 'GB'"),
        (("elapsed_s=t_min",), "'t_min' may be minutes or a minimum: add the unit"),
    ],
)
def test_own_table_wrong_columns(columns: tuple[str, ...], message: str) -> None:
    with pytest.raises(VenturiError, match=message):
        read("table", TABLE, *columns)


def test_own_table_bad_rows_are_refused() -> None:
    items = read("table", "t,state\n1,ok\n-1,ok\n2,maybe\nx,ok\n3", "elapsed_s=t", "state=state")
    assert [(each.line, each.reason) for each in refused(items)] == [
        (3, "not above 0"),
        (4, "neither a success nor a failure"),
        (5, "not a number"),
        (6, "the last line is truncated"),
    ]
    assert len(trials(items)) == 1


_JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)
_KEYS = ("jobname", "groupid", "error", "elapsed", "job options", "read", "write", "hostname")


@given(st.dictionaries(st.sampled_from(_KEYS), _JSON), _JSON)
def test_fio_any_job_is_a_trial_or_a_refusal(changes: dict[str, Any], options: Any) -> None:
    for item in read("fio", fio(job(**changes), **{"global options": options})):
        if isinstance(item, Trial):
            assert decode(encode(item)) == item


@given(st.sampled_from(("start", "end", "error")), _JSON, st.integers(0, 4))
def test_iperf3_any_run_is_a_trial_or_a_refusal(key: str, value: Any, cut: int) -> None:
    run = json.loads(IPERF3.read_text().partition("\n}\n")[0] + "\n}")
    run[key] = value
    if isinstance(run["start"], dict) and cut:
        run["start"] = {**run["start"], "test_start": value}
    # A run before it, so that the file has one.
    for item in read("iperf3", IPERF3.read_text() + json.dumps(run)):
        if isinstance(item, Trial):
            assert decode(encode(item)) == item
            assert all(s.value is None or math.isfinite(s.value) for s in item.samples)
