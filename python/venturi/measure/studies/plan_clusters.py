"""The clusters of a plan: files, relative to it, of existing hosts or of labs to make."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from venturi.core.errors import VenturiError
from venturi.core.toml_file import KeyLines, KeyPath, Mistake
from venturi.measure.clusters.cluster_file import PriceOf, parse_cluster
from venturi.measure.clusters.cluster_spec import WORKER
from venturi.measure.engines.registry import ENGINES, starts_daemons
from venturi.measure.lab.cluster_file import cluster_text
from venturi.measure.lab.lab_file import parse_lab
from venturi.measure.lab.lab_spec import dilated
from venturi.measure.studies.study import LOCAL, Combination, PlanCluster

_Doubts = list[tuple[KeyPath, str]]
_Disks = Mapping[str, Mapping[str, tuple[str, ...]]]


@dataclass(frozen=True, slots=True)
class ClusterReference:
    """A plan's reference to a cluster: a lab's file or a cluster's; both or neither is a
    mistake.
    """

    lab: str | None
    file: str | None


def clusters_of(
    named: Mapping[str, ClusterReference],
    lines: KeyLines,
    folder: Path,
    read: Callable[[Path], str],
    price_of: PriceOf | None = None,
) -> tuple[dict[str, PlanCluster], _Doubts]:
    """Parse the clusters in the files that a plan names, relative to its `folder`; return them and
    all mistakes, including those in the files. `read` returns a file's text or raises VenturiError;
    `price_of` is that of `cluster_of`.
    """
    found: dict[str, PlanCluster] = {}
    doubts: _Doubts = []
    for name, each in named.items():
        at: KeyPath = ("clusters", name)
        if name == LOCAL:
            doubts.append(
                (at, f"{LOCAL} is reserved for the machine Venturi runs on; use another name")
            )
            continue
        if (each.lab is None) == (each.file is None):
            said = f'cluster {name}: give either lab = "LAB.toml" or file = "CLUSTER.toml"'
            doubts.append((at, said))
            continue
        key, path = ("lab", each.lab) if each.file is None else ("file", each.file)
        at = (*at, key)
        try:
            text = read(folder / str(path))
        except VenturiError as error:
            doubts.append((at, error.message))
            continue
        file, line = folder / str(path), lines.of(at)
        parsed = _lab(text, file, line) if key == "lab" else _cluster(text, file, line, price_of)
        if isinstance(parsed, PlanCluster):
            found[name] = parsed
        else:
            doubts += [(at, f"{path}, line {m.line}: {m.message}") for m in parsed]
    return found, doubts


def _lab(text: str, file: Path, line: int) -> PlanCluster | Sequence[Mistake]:
    lab, mistakes = parse_lab(text, file)
    if lab is None:
        return mistakes
    spec, mistakes = parse_cluster(cluster_text(lab, dilated(lab, cores=1)), file)
    return mistakes if spec is None else PlanCluster(spec, lab, file, _digest(text), line)


def _cluster(
    text: str, file: Path, line: int, price_of: PriceOf | None
) -> PlanCluster | Sequence[Mistake]:
    spec, mistakes = parse_cluster(text, file, price_of)
    return mistakes if spec is None else PlanCluster(spec, None, file, _digest(text), line)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def doubtful_places(
    found: Iterable[Combination], disks: _Disks, clusters: Mapping[str, PlanCluster]
) -> Iterator[tuple[KeyPath, str]]:
    """Yield the mistakes in the places where the combinations are to run."""
    kept = [each for each in found if each.place != LOCAL]
    for engine, name in dict.fromkeys((each.engine, each.place) for each in kept):
        if not starts_daemons(engine):
            yield (
                ("factors", "engine"),
                (
                    f"{engine} runs on one host, not on the cluster {name}: write one of "
                    f"{_able()}, or exclude it "
                    f'([[exclude]] engine = "{engine}", cluster = "{name}")'
                ),
            )
    for name in dict.fromkeys(each.place for each in kept):
        if not clusters[name].spec.having(WORKER):
            yield ("clusters", name), f'no host of {name} is a worker: roles = ["worker"]'
    for disk, name in dict.fromkeys((each.disk, each.place) for each in kept):
        if disk is not None:
            yield from _doubtful_folders(disk, disks[disk], name, clusters[name])


def _able() -> str:
    names = (f"{kind.name}:{way}" for kind in ENGINES.values() for way in sorted(kind.clusters))
    return ", ".join(names)


def _doubtful_folders(
    disk: str, roles: Mapping[str, tuple[str, ...]], name: str, cluster: PlanCluster
) -> Iterator[tuple[KeyPath, str]]:
    """Folders of a disk that no host of a cluster can have, or that its lab does not give it."""
    for role, dirs in roles.items():
        at: KeyPath = ("disks", disk, role)
        for each in dirs:
            path = PurePosixPath(each)
            if not path.is_absolute() or ".." in path.parts or path == PurePosixPath("/"):
                yield at, f"{each!r}: on the cluster {name}, folders must start with /"
            elif cluster.lab is not None:
                yield from ((at, said) for said in _not_in_lab(Path(path), name, cluster))


def _not_in_lab(path: Path, name: str, cluster: PlanCluster) -> Iterator[str]:
    """Which worker of a lab has no disk for `path`: the first."""
    for host in cluster.spec.having(WORKER):
        own = [each for paths in host.disks.values() for each in paths]
        if not any(path.is_relative_to(each) for each in own):
            has = ", ".join(map(str, own)) or "no disk"
            yield f"{path} is on no disk of {host.name} of the cluster {name}, which has {has}"
            return
