"""Words, lines and pi by Hadoop's examples."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from venturi.measure.workloads.definition import Size
from venturi.measure.workloads.programs import Findings, HadoopProgram, HadoopRun, HadoopTask

_EXAMPLES = "org.apache.hadoop.examples"
_KEY_VALUE = "org.apache.hadoop.mapreduce.lib.input.KeyValueTextInputFormat"
_TEXT_OUT = "org.apache.hadoop.mapreduce.lib.output.TextOutputFormat"
_TEXT = "org.apache.hadoop.io.Text"
_ESTIMATE = re.compile(r"Estimated value of Pi is ([\d.]+)")


def _lines(where: HadoopTask) -> Sequence[str]:
    reduces = where.task.configuration["mapreduce.job.reduces"]
    return (
        "-r",
        reduces,
        "-inFormat",
        _KEY_VALUE,
        "-outFormat",
        _TEXT_OUT,
        "-outKey",
        _TEXT,
        "-outValue",
        _TEXT,
        where.input,
        where.output,
    )


def _no_separator(_: HadoopTask) -> Mapping[str, str]:
    # A line without a tab is all key, and needs no separator. Hadoop drops an empty setting on its
    # way to the task, but not one that becomes empty there.
    return {"mapreduce.output.textoutputformat.separator": "${env.NO_SEPARATOR:-}"}


def _points(size: Size) -> tuple[int, int]:
    """Maps, and the points of each."""
    parts = size.parts or 1
    return parts, -(-size.records // parts)


def _pi(where: HadoopTask) -> Sequence[str]:
    return tuple(map(str, _points(where.task.size)))


def _inside(run: HadoopRun) -> Findings:
    found = _ESTIMATE.search(run.log)
    if found is None:
        return Findings()
    maps, each = _points(run.task.size)
    return Findings({"inside": round(float(found[1]) * maps * each / 4)})


PROGRAMS = {
    "wordcount": HadoopProgram(f"{_EXAMPLES}.WordCount"),
    "sort": HadoopProgram(f"{_EXAMPLES}.Sort", _lines, _no_separator),
    "pi": HadoopProgram(f"{_EXAMPLES}.QuasiMonteCarlo", _pi, findings=_inside),
}
