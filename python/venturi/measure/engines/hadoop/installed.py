"""Hadoop on the nodes of a cluster: at the same path on all, sent to those that lack it.

The folder fetched by `venturi engines install` is named by the digest of its pins, so a folder with
this name on another host is the same. A Hadoop of HADOOP_HOME must already be on all nodes.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from venturi.core.errors import VenturiError
from venturi.measure.clusters.connect import on_each
from venturi.measure.engines.hadoop.install import Hadoop, HadoopLookup, look_for_hadoop, place_of
from venturi.measure.engines.nodes import ClusterNodes
from venturi.measure.hosts import owned_folders
from venturi.measure.hosts.host import Files
from venturi.measure.hosts.local import HERE

LOOK_S = 60.0
SEND_S = 1800.0


def look_on_nodes(
    nodes: ClusterNodes, home: Path, environ: Mapping[str, str]
) -> tuple[HadoopLookup, Mapping[str, Hadoop]]:
    """Look for Hadoop on all `nodes`. Return the client's result, extended by anything that a node
    lacks, with the node's name; and each node's Hadoop. Files that can be sent to a node count as
    present.
    """
    hosts = {node.name: node.host for node in nodes.all}
    coming = _can_be_sent(home, environ)
    looked = on_each(
        hosts,
        lambda name: look_for_hadoop(hosts[name], home, environ, coming=coming),
        timeout_s=LOOK_S,
    ).all()
    own = looked[nodes.client.name]
    missing = tuple(
        replace(each, what=f"on {name}: {each.what}")
        for name, found in looked.items()
        for each in found.missing
    )
    hadoop = {name: found.hadoop for name, found in looked.items() if found.hadoop is not None}
    versions = {name: (each.version, each.jars) for name, each in hadoop.items()}
    if not missing and len(set(versions.values())) > 1:
        said = ", ".join(f"{version} on {name}" for name, (version, _) in versions.items())
        raise VenturiError(
            "VEN-ENGINE-CLUSTER",
            f"the hosts of the cluster have different versions of Hadoop: {said}",
            hint="install the same version, or unset HADOOP_HOME so that Venturi sends its own",
        )
    return replace(own, hadoop=None if missing else own.hadoop, missing=missing), hadoop


def send_to_nodes(nodes: ClusterNodes, home: Path, environ: Mapping[str, str]) -> None:
    """Send the Hadoop that Venturi fetched to all nodes that lack it, concurrently."""
    if not _can_be_sent(home, environ):
        return
    place = place_of(home)
    files = {node.name: node.host.files for node in nodes.all}
    on_each(files, lambda name: _send(name, files[name], place), timeout_s=SEND_S).all()


def _can_be_sent(home: Path, environ: Mapping[str, str]) -> bool:
    return not environ.get("HADOOP_HOME") and HERE.is_folder(place_of(home))


def _send(name: str, files: Files, place: Path) -> None:
    if files.is_folder(place):
        return
    try:
        files.mkdir(place.parent, parents=True, exist_ok=True)
        owned_folders.sweep(files, place.parent, prefix=owned_folders.PUSH_PREFIX)
        part = place.with_name(f"{owned_folders.PUSH_PREFIX}{secrets.token_hex(4)}")
        owned_folders.make(files, part)
        try:
            jars = part / place.name
            files.mkdir(jars)
            for each in HERE.entries(place):
                files.put(each.path, jars / each.path.name)
            files.sync(jars)
            files.rename(jars, place)
        finally:
            with suppress(OSError, VenturiError):
                owned_folders.discard(files, part)
    except OSError as error:
        if files.is_folder(place):  # another Venturi was faster
            return
        raise VenturiError(
            "VEN-ENGINE-INSTALL",
            f"Hadoop cannot be sent to {place.parent} on {name}: {error.strerror}",
            where={"host": name, "dir": str(place.parent)},
            hint="Hadoop must be at the same path on every host: make this folder writable there, "
            "or install Hadoop at one path on all hosts and set HADOOP_HOME to it",
        ) from error
