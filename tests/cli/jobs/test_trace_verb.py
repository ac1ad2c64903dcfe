"""`venturi trace`: what it prints of a trace, and of a damaged one; recording."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest

from command_line import PROGRAM, started, venturi
from loop_disks import READ_ONLY, loop_disk, mounted, needs_perf, needs_recording

BY_THE_KERNEL = Path(__file__).parents[2] / "data" / "blktrace" / "6.18" / "loop-ext4.bin"


def lines(requests: int, *, sectors: int, apart: int) -> str:
    """blkparse's text of reads, each `apart` sectors behind the end of the one before."""
    made: list[str] = []
    place = 2048
    for number in range(requests):
        start_ns = number * 1_000_000
        for letter, at_ns in (("Q", start_ns), ("D", start_ns + 1000), ("C", start_ns + 401_000)):
            head = f"8,16 0 {len(made) + 1} 0.{at_ns:09} 7"
            made.append(f"{head} {letter} R {place} + {sectors} [0]\n")
        place += sectors + apart
    return "".join(made)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """100 reads of 128 KiB, one after the other."""
    path = tmp_path / "trace.txt"
    path.write_text(lines(100, sectors=256, apart=0))
    return path


def test_it_says_what_the_pattern_is_and_by_which_figures(
    tmp_path: Path, trace: Path, agent_binary: Path
) -> None:
    shown = venturi("trace", "show", trace, home=tmp_path / "home", VENTURI_AGENT=str(agent_binary))
    assert (shown.returncode, shown.stderr) == (0, "")
    words = " ".join(shown.stdout.split())
    assert "trace 1 file" in words
    assert "blkparse text" in words
    assert "not in it nothing, as far as is known" in words
    assert "read: sequential: 100 % of reads continue one of 16 streams, mean run 13.1 MB" in words
    assert "device 8,16: busy 40 %, 0.4 requests in flight on average, 1 at most" in words
    assert "128 KiB 100 %" in words
    assert "400 µs" in words
    by_disk = venturi(
        "trace",
        "show",
        trace,
        "--by",
        "device",
        home=tmp_path / "home",
        VENTURI_AGENT=str(agent_binary),
    )
    said, *_, only = by_disk.stdout.splitlines()
    assert "only venturi trace record records that" in said
    assert only.split()[:4] == ["8,16", "13.1", "MB", "100"]


def test_scattered_reads_are_called_so(tmp_path: Path, agent_binary: Path) -> None:
    path = tmp_path / "trace.txt"
    path.write_text(lines(100, sectors=8, apart=100_000))
    shown = venturi("trace", "show", path, home=tmp_path / "home", VENTURI_AGENT=str(agent_binary))
    assert "read: random: 0 % of reads continue one of 16 streams" in shown.stdout


def test_what_is_not_in_it_is_told(tmp_path: Path, trace: Path, agent_binary: Path) -> None:
    text = trace.read_text().splitlines(keepends=True)
    trace.write_text("".join([*text[:100], "what is this\n", *text[110:]]))
    shown = venturi("trace", "show", trace, home=tmp_path / "home", VENTURI_AGENT=str(agent_binary))
    assert shown.returncode == 0
    assert "10 records by their numbers; 1 line that is not an event" in shown.stdout
    assert "warning[VEN-TRACE-DAMAGED]" in shown.stderr
    assert "line 101" in shown.stderr
    assert "warning[VEN-TRACE-LOST]" in shown.stderr


def test_a_converted_trace_says_the_same_and_what_was_wrong_with_it(
    tmp_path: Path, trace: Path, agent_binary: Path
) -> None:
    def run(*args: object) -> subprocess.CompletedProcess[str]:
        return venturi("trace", *args, home=tmp_path / "home", VENTURI_AGENT=str(agent_binary))

    trace.write_text(f"{trace.read_text()}what is this\n")
    made = tmp_path / "made"
    done = run("convert", trace, "-o", made)
    assert done.returncode == 0, done.stderr
    assert "300 events of 300 records" in done.stdout
    before, after = (json.loads(run("show", each, "--json").stdout) for each in (trace, made))
    assert after["data"]["devices"] == before["data"]["devices"]
    assert "made from blkparse text" in after["data"]["formats"]
    assert "line 301, are no events" in after["warnings"][0]
    again = run("convert", trace, "-o", made)
    assert "VEN-TRACE-OCCUPIED" in again.stderr
    recorded = run("convert", made, "-o", tmp_path / "other")
    assert "VEN-TRACE-RECORDED" in recorded.stderr
    assert "nothing to convert" in recorded.stderr
    assert "venturi trace show" in recorded.stderr
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("written", ["pipe", "file"])
def test_standard_input_is_a_trace_too(
    tmp_path: Path, trace: Path, agent_binary: Path, written: str
) -> None:
    trace.write_text(f"{trace.read_text()}what is this\n")
    places = {"VENTURI_HOME": str(tmp_path / "home"), "VENTURI_AGENT": str(agent_binary)}

    def run(*args: object) -> str:
        with (
            trace.open("rb") as file,
            subprocess.Popen(["cat", trace], stdout=subprocess.PIPE) as cat,
        ):
            done = subprocess.run(
                [*PROGRAM, "trace", *map(str, args)],
                stdin=file if written == "file" else cat.stdout,
                env={**os.environ, **places},
                text=True,
                capture_output=True,
                check=False,
            )
        assert done.returncode == 0, done.stderr
        return done.stdout

    shown = json.loads(run("show", "-", "--json"))
    direct = venturi(
        "trace", "show", trace, "--json", home=tmp_path / "home", VENTURI_AGENT=str(agent_binary)
    )
    assert shown["data"] == json.loads(direct.stdout)["data"]
    (warning,) = shown["warnings"]
    assert warning.startswith("standard input: 1 lines, the first is line 301")
    run("convert", "-", "-o", tmp_path / "made")
    made = json.loads(
        venturi(
            "trace",
            "show",
            tmp_path / "made",
            "--json",
            home=tmp_path / "home",
            VENTURI_AGENT=str(agent_binary),
        ).stdout
    )["data"]
    assert made["devices"] == json.loads(direct.stdout)["data"]["devices"]


def test_what_the_kernel_wrote_in_blktraces_format_is_the_same_when_converted(
    tmp_path: Path, agent_binary: Path
) -> None:
    def run(*args: object) -> str:
        done = venturi("trace", *args, home=tmp_path / "home", VENTURI_AGENT=str(agent_binary))
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("convert", BY_THE_KERNEL, "-o", tmp_path / "made")
    before, after = (
        json.loads(run("show", each, "--json"))["data"]
        for each in (BY_THE_KERNEL, tmp_path / "made")
    )
    for letter in ("issue", "complete"):
        assert after["actions"][letter] == before["actions"][letter] > 30
    assert after["devices"] == before["devices"]
    assert after["losses"] == before["losses"]


def test_json_has_all_of_it_with_thresholds_and_their_sources(
    tmp_path: Path, trace: Path, agent_binary: Path
) -> None:
    done = venturi(
        "trace", "show", trace, "--json", home=tmp_path / "home", VENTURI_AGENT=str(agent_binary)
    )
    answer = json.loads(done.stdout)
    data = answer["data"]
    (device,) = data["devices"]
    (read,) = device["operations"]
    assert read["sizes"] == [[131072, 100]]
    assert read["seek_plain"]["zero"] == 99
    assert read["verdict"]["access"] == "sequential"
    assert sum(count for _, _, count, _ in read["position"]["cells"]) == 100
    assert all(each["source"] and each["unit"] for each in data["thresholds"])
    assert answer["warnings"] == []


@needs_recording
def test_what_a_command_does_to_a_disk_is_recorded(tmp_path: Path, agent_binary: Path) -> None:
    def run(*args: object) -> subprocess.CompletedProcess[str]:
        return venturi(*args, home=tmp_path / "home", VENTURI_AGENT=str(agent_binary))

    with loop_disk(tmp_path / "image", 8 << 20) as device:
        reads = ("dd", f"if={device}", "of=/dev/null", "bs=4096", "count=50", "iflag=direct")
        options = ("trace", "record", "--device", device, "-o")
        recorded = run(*options, tmp_path / "out", "--", *reads)
        assert recorded.returncode == 0, recorded.stderr
        assert "0 lost" in recorded.stdout
        assert re.search(
            r"each CPU used at most [\d.]+ % of its buffer of [\d.]+ MiB", recorded.stdout
        )
        assert f"venturi trace show {tmp_path / 'out'}" in recorded.stdout
        failed = run(*options, tmp_path / "failed", "--", "sh", "-c", "exit 7")
        assert failed.returncode == 1
        assert "error[VEN-TRACE-COMMAND]: sh ended with status 7" in failed.stderr
        timed = run(*options, tmp_path / "timed", "--for", "10ms", "--json")
        assert (json.loads(timed.stdout)["data"]["lost"], timed.returncode) == (0, 0)
        until_ctrl_c = started(
            *options, tmp_path / "until", home=tmp_path / "home", VENTURI_AGENT=str(agent_binary)
        )
        while not (tmp_path / "until" / "end.json").exists():
            assert until_ctrl_c.poll() is None, until_ctrl_c.communicate()
            time.sleep(0.02)
        until_ctrl_c.send_signal(signal.SIGINT)
        said, complaint = until_ctrl_c.communicate(timeout=60)
        assert (until_ctrl_c.returncode, "0 lost" in said) == (0, True), complaint
    shown = run("trace", "show", tmp_path / "out")
    words = " ".join(shown.stdout.split())
    assert "tracepoints as venturi records them" in words
    assert "not in it nothing, as far as is known" in words
    assert "read: " in words


@needs_recording
def test_a_trial_is_recorded_and_its_requests_told_by_its_files(
    tmp_path: Path, agent_binary: Path
) -> None:
    def run(*args: object) -> subprocess.CompletedProcess[str]:
        return venturi(*args, home=tmp_path / "home", VENTURI_AGENT=str(agent_binary))

    with (
        loop_disk(tmp_path / "image", 128 << 20) as device,
        mounted(device, tmp_path / "disk") as disk,
    ):
        options = ("--bytes", "4MB", "--repeat", 1, "--warm-up", 0, "--no-series", "--dir", disk)
        done = run("run", "terasort", *options, "--trace", "--json")
        assert done.returncode == 0, done.stderr
    (trial,) = json.loads(done.stdout)["data"]
    kept = {each["name"] for each in trial["artifacts"]}
    assert kept >= {"io-trace.json", "io-recording.tar.gz"}
    shares = json.loads(run("trace", "show", "last", "--json").stdout)["data"]["whose"]["shares"]
    found: Counter[tuple[str, str]] = Counter()
    for each in shares:
        found[each["operation"], each["file_class"]] += each["bytes"]
    assert found["read", "input"] >= 4e6
    assert found["write", "output"] >= 4e6
    by_class, by_stage, by_device = (
        run("trace", "show", trial["id"], "--by", by).stdout for by in ("class", "stage", "device")
    )
    assert by_class.startswith("not attributed: ")
    assert "no request is known to be of a stage" in by_stage
    (named,) = re.findall(r"^loop\d+ \(\d+,\d+\)", by_device, re.MULTILINE)
    assert f"device {named}: busy" in run("trace", "show", trial["id"]).stdout
    shown = run("show", "last").stdout
    assert "Block I/O" in shown
    assert "not attributed: " in shown
    missing = run("trace", "show", "no-such-trial")
    assert "neither a file or folder nor a trial" in missing.stderr


def test_a_recording_needs_a_disk_and_one_end(tmp_path: Path) -> None:
    def refused(*args: object) -> str:
        run = venturi("trace", "record", "-o", tmp_path / "out", *args, home=tmp_path / "home")
        assert run.returncode in {1, 2}
        assert not (tmp_path / "out").exists()
        return run.stderr

    assert "--dir or --device" in refused()
    assert "--mark x=/" in refused("--dir", "/", "--mark", "x=/")
    assert "Leave out --for" in refused("--dir", "/", "--for", "1s", "--", "true")
    assert "from 4KiB to 4GiB" in refused("--dir", "/", "--buffer", "5GiB")
    assert "VEN-TRACE-COMMAND" in refused("--dir", "/", "--", "no-such-program-here")


@needs_recording
@needs_perf
def test_that_perf_recorded_is_said(tmp_path: Path, agent_binary: Path) -> None:
    out = tmp_path / "out"
    environ = {"VENTURI_HOME": str(tmp_path / "home"), "VENTURI_AGENT": str(agent_binary)}
    with loop_disk(tmp_path / "image", 8 << 20) as device:
        read = ("dd", f"if={device}", "of=/dev/null", "bs=64k", "iflag=direct", "status=none")
        told = subprocess.run(
            [*READ_ONLY, *PROGRAM, "trace", "record", "--device", device, "-o", out, "--", *read],
            env=os.environ | environ,
            capture_output=True,
            text=True,
            check=True,
        )
    assert "warning[VEN-TRACE-PERF]: perf recorded, because /sys/kernel/tracing" in told.stderr
    first, second, *_ = told.stdout.splitlines()
    assert re.search(r"\d events while it recorded for .*, 0 lost; .* in ", first)
    assert second.startswith("read it: venturi trace show ")
    agent = {"VENTURI_AGENT": str(agent_binary)}
    shown = venturi("trace", "show", out, home=tmp_path / "home", **agent)
    assert "read: sequential" in shown.stdout
