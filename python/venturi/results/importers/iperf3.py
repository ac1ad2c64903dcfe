"""iperf3: the JSON of `iperf3 -J` (client or server), or the lines of `--json-stream`.

Each run is a trial of a network probe between two hosts; a file may hold several. Decisions:

- The rate is that of the data that arrived (`sum_received`), of all parallel streams together, also
  with `--reverse`. If only the sender's rate is known, it is used with a warning.
- `direction` names the flow of the data: "to server" or, with `--reverse`, "from server".
- A `--bidir` run has two rates, measured concurrently: an all-to-all of two hosts.
- UDP sends at a chosen rate (`-b`, by default 1 Mbit/s), so its rate, loss and jitter are metrics
  of their own, which no catalog uses. TCP with `-b` is limited too: `target_bits_per_s` says so.
- Between two addresses of one host, iperf3 measures memory, not a network.
- A run with an `error` is a failed trial; its measurements before the error are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from venturi.record.importing.formats import Format
from venturi.record.importing.items import (
    UNSTATED,
    ImportedItem,
    ImportSource,
    admitted,
    imported_id,
    since_1970,
)
from venturi.record.importing.json_text import (
    JsonLimits,
    UnusableError,
    documents,
    number_in,
    object_in,
    objects_in,
)
from venturi.record.importing.text import Refusal
from venturi.record.trial import Engine, Sample, Scalar, Trial, TrialWarning
from venturi.results.importers.probe_trials import NETWORK, ProbeRun

FORMAT = Format(
    "iperf3",
    "iperf3: JSON (-J or --json-stream); network probes",
    pattern=(
        r'(?s).{0,32768}?\{\s*"(?:start"\s*:\s*\{\s*"(?:connected|version)"'
        r'|event"\s*:\s*"(?:start|error)"'
        r'|error"\s*:\s*"(?:error|unable|the|control|interrupt|parameter|received|test|idle) )'
    ),
)

_LIMITS = JsonLimits(file_bytes=256 << 20, records=100_000)
_ENDS = {"sum_sent": "sent", "sum_received": "received"}
_MOST_STREAMS = 1_000
_CHOSEN = ("num_streams", "blksize", "omit", "duration", "bytes", "blocks", "reverse", "tos")


def read(file: BinaryIO, source: ImportSource) -> Iterator[ImportedItem]:
    """Yield the trials of the runs in `file`, with the runs that were rejected."""
    found, problem = False, ""
    streamed: dict[str, Any] = {}
    line = 1
    for document in documents(file, source, _LIMITS):
        value = document.value
        if problem := document.problem:
            yield Refusal(document.line, "", document.text[:100], problem)
        elif isinstance(value.get("event"), str):
            found = True
            if value["event"] == "start" and streamed:
                yield from _trials(streamed, line, source)
                streamed = {}
            line = line if streamed else document.line
            if value["event"] in {"start", "end", "error"}:
                streamed[value["event"]] = value.get("data")
        elif isinstance(value.get("start"), dict) or "error" in value:
            found = True
            yield from _trials(value, document.line, source)
        else:
            yield Refusal(document.line, "", document.text[:100], "not a run of iperf3")
    if streamed:
        yield from _trials(streamed, line, source)
    if not found:
        why = 'no JSON of iperf3: an object with "start" and "end"'
        if problem:
            why = f"no whole run of iperf3: {problem}, before the run's result"
        raise source.malformed(why)


def _trials(run: Mapping[str, Any], line: int, source: ImportSource) -> Iterator[ImportedItem]:
    try:
        yield from admitted([_trial(run, source)], line, source)
    except UnusableError as error:
        yield error.refusal(line)


def _trial(run: Mapping[str, Any], source: ImportSource) -> Trial:
    start, end = object_in(run, "start"), object_in(run, "end")
    test = object_in(start, "test_start")
    failure = _text(run.get("error"))
    protocol = _text(test.get("protocol")).upper() or _protocol(end)
    warnings: list[TrialWarning] = []
    labels: dict[str, Scalar] = {
        "peers": 2,
        "streams": int(number_in(test, "num_streams") or 1),
        "slowest": False,
    }
    if protocol == "TCP" and not failure and "accepted_connection" not in start:
        _require_arrivals(end)
    samples = _udp(run, labels) if protocol == "UDP" else _tcp(end, labels, test, warnings)
    if not samples and not failure:
        raise UnusableError("end", "", "the run has no rate: it was interrupted or truncated")
    host = _text(start.get("system_info")).split()[1:2]
    connected = objects_in(start, "connected")
    loopback = any(
        each.get("local_host") and each.get("local_host") == each.get("remote_host")
        for each in connected
    )
    configuration: dict[str, Scalar] = {"protocol": protocol}
    configuration |= {key: value for key in _CHOSEN if (value := number_in(test, key)) is not None}
    configuration["server"] = _text(object_in(start, "connecting_to").get("host")) or None
    target = number_in(test, "target_bitrate")
    if target:
        configuration["target_bits_per_s"] = target
    if loopback:
        configuration["loopback"] = True
    seconds = number_in(object_in(start, "timestamp"), "timesecs") or 0
    figures = [(each.metric, each.value, str(each.labels)) for each in samples]
    cookie = _text(start.get("cookie"))
    return ProbeRun(
        id=imported_id("iperf3", cookie, str(seconds), failure, str(figures), str(configuration)),
        dataset="iperf3",
        kind=NETWORK,
        engine=Engine("iperf3", _text(start.get("version")).removeprefix("iperf ") or "unknown"),
        samples=samples,
        configuration=configuration,
        started_at=since_1970(seconds),
        elapsed_s=_seconds(end) or number_in(test, "duration"),
        hosts=tuple(host),
        network="loopback: peers on one host" if loopback else "network",
        warnings=tuple(warnings),
        failure=f"iperf3 reports: {failure}"[:2000] if failure else None,
    ).trial(source)


def _require_arrivals(end: Mapping[str, Any]) -> None:
    """UnusableError if the client reports that its receiver counted nothing.

    A server doesn't know what arrived of its own data, nor does an interrupted client.
    """
    for suffix in ("", "_bidir_reverse"):
        key = f"sum_received{suffix}"
        sent = number_in(object_in(end, f"sum_sent{suffix}"), "bits_per_second")
        if sent and number_in(object_in(end, key), "bits_per_second") == 0:
            why = "the receiver counted no data, so the network's rate is unknown"
            raise UnusableError(f"end.{key}.bits_per_second", 0, why)


def _directions(test: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return the suffixes of the sums in the JSON, with the direction of the data."""
    first = "from server" if number_in(test, "reverse") else "to server"
    return ("", first), ("_bidir_reverse", "from server")


def _tcp(
    end: Mapping[str, Any],
    labels: Mapping[str, Scalar],
    test: Mapping[str, Any],
    warnings: list[TrialWarning],
) -> tuple[Sample, ...]:
    directions = _directions(test)
    forward, backward = (_arrived(end, suffix) for suffix, _ in directions)
    if forward is None:
        return ()
    if not forward[1] or (backward and not backward[1]):
        text = "only the sender's rate is known, which counts data that may not have arrived"
        warnings.append(TrialWarning(UNSTATED, text))
    more = [
        Sample("net_retransmits", value, "1", labels={"direction": direction})
        for suffix, direction in directions
        if (value := number_in(object_in(end, f"sum_sent{suffix}"), "retransmits")) is not None
    ]
    if backward is None:
        named = {**labels, "direction": directions[0][1]}
        return (Sample("net_pairwise_bytes_per_s", forward[0], "B/s", labels=named), *more)
    both = (("to server", forward[0]), ("from server", backward[0]))
    metric = "net_all_to_all_bytes_per_s"
    slowest = min(both, key=lambda each: each[1])
    mean = (forward[0] + backward[0]) / 2
    return (
        Sample(metric, mean, "B/s", labels=labels),
        Sample(metric, slowest[1], "B/s", labels={**labels, "slowest": True, "peer": slowest[0]}),
        *(
            Sample("net_bidirectional_bytes_per_s", rate, "B/s", labels={"direction": name})
            for name, rate in both
        ),
        *more,
    )


def _arrived(end: Mapping[str, Any], suffix: str) -> tuple[float, bool] | None:
    """Return the rate in bytes/s, and whether the receiver counted it."""
    for key in ("sum_received", "sum_sent", "sum"):
        bits_per_s = number_in(object_in(end, key + suffix), "bits_per_second")
        if bits_per_s:
            return bits_per_s / 8, key == "sum_received"
    return None


def _udp(run: Mapping[str, Any], labels: Mapping[str, Scalar]) -> tuple[Sample, ...]:
    start, end = object_in(run, "start"), object_in(run, "end")
    samples: list[Sample] = []
    for suffix, direction in _directions(object_in(start, "test_start")):
        total = object_in(end, f"sum{suffix}")
        received = object_in(end, f"sum_received{suffix}") or total
        if not number_in(received, "packets") and number_in(total, "packets"):
            # Nothing arrived, or a sending server printed this, which doesn't know what arrived.
            sent = "accepted_connection" in start and direction == "from server"
            received = {} if sent else {**received, "lost_percent": 100}
        named = {**labels, "direction": direction}
        sent_bits_per_s = number_in(object_in(end, f"sum_sent{suffix}") or total, "bits_per_second")
        lost_percent = number_in(received, "lost_percent")
        bits_per_s = number_in(received, "bits_per_second")
        if received is total and bits_per_s is not None and lost_percent is not None:
            bits_per_s *= 1 - lost_percent / 100  # before iperf3 3.2 the sum is the sender's
        figures = (
            ("net_udp_sent_bytes_per_s", sent_bits_per_s, 1 / 8, "B/s"),
            ("net_udp_received_bytes_per_s", bits_per_s, 1 / 8, "B/s"),
            ("net_udp_lost", lost_percent, 1 / 100, "fraction"),
            ("net_udp_jitter_s", number_in(received, "jitter_ms"), 1 / 1000, "s"),
        )
        samples += (
            Sample(metric, value * scale, unit, labels=named)
            for metric, value, scale, unit in figures
            if value is not None
        )
    return tuple(samples)


def _protocol(end: Mapping[str, Any]) -> str:
    streams = objects_in(end, "streams")[:_MOST_STREAMS]
    return "UDP" if any("udp" in each for each in streams) else "TCP"


def _seconds(end: Mapping[str, Any]) -> float | None:
    found = (
        number_in(object_in(end, key), "seconds") for key in ("sum_received", "sum_sent", "sum")
    )
    return next((seconds for seconds in found if seconds), None)


def _text(value: object) -> str:
    return value.strip()[:1000] if isinstance(value, str) else ""
