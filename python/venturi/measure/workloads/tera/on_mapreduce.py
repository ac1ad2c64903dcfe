"""The TeraSort suite by Hadoop's examples."""

from __future__ import annotations

from collections.abc import Mapping

from venturi.measure.workloads.programs import Findings, HadoopProgram, HadoopRun

_EXAMPLES = "org.apache.hadoop.examples.terasort"
_COUNTERS = f"{_EXAMPLES}.TeraGen$Counters"
CHECKSUM_MODULUS = 2**64  # TeraGen's counter is signed


def _maps(threads: int) -> Mapping[str, str]:
    # TeraGen has a map for each file that it makes; of the others it is but a wish.
    return {"mapreduce.job.maps": str(threads)}


def _made(run: HadoopRun) -> Findings:
    """Return TeraGen's checksum of its records."""
    own = run.counters.get(_COUNTERS, {})
    if "CHECKSUM" not in own:
        return Findings()
    return Findings({"checksum": f"{own['CHECKSUM'] % CHECKSUM_MODULUS:x}"})


def _seen(run: HadoopRun) -> Findings:
    """Return TeraValidate's findings about the records."""
    lines = [
        line.partition("\t")
        for each in run.files.find(run.task.output, "part-*")
        for line in run.files.read(each.path).decode().splitlines()
    ]
    found = {key: value for key, _, value in lines}
    return Findings(
        {
            "unordered_records": sum(key != "checksum" for key, _, _ in lines),
            "checksum": found.get("checksum"),
        }
    )


PROGRAMS = {
    "teragen": HadoopProgram(
        f"{_EXAMPLES}.TeraGen",
        lambda where: (str(where.task.size.records), where.output),
        defaults=_maps,
        findings=_made,
    ),
    "terasort": HadoopProgram(f"{_EXAMPLES}.TeraSort"),
    "terasort-skewed": HadoopProgram(f"{_EXAMPLES}.TeraSort"),
    "teravalidate": HadoopProgram(f"{_EXAMPLES}.TeraValidate", findings=_seen),
}
