"""Options of a prediction, as the command line names them. Imports nothing heavy."""

from __future__ import annotations

from enum import StrEnum

MOST_NODES = 1_000_000  # more than any cluster has; what is asked beyond is a slip


class Durability(StrEnum):
    """Data that survive the loss of a node: the classes of the SoCC 2015 paper, section 3.3, and
    object storage.
    """

    TWO_IO = "2-io"  # everything on local disks, one copy
    REPLICATED = "replicated"  # the job writes further copies of its output to other nodes
    VOLUMES = "volumes"  # input and output on network volumes, which the provider replicates
    OBJECTS = "objects"  # input and output in object storage


class Exchange(StrEnum):
    """The share of the shuffle that crosses the network."""

    REMOTE = "remote"  # (N-1)/N: what belongs to a node's own partitions stays on it
    ALL = "all"  # every byte, as equations (1) to (11) of the SoCC 2015 paper have it


class NetworkChoice(StrEnum):
    """Which network bandwidth counts: the three bars per type of the paper's Figure 9."""

    AT_SCALE = "at scale"  # as observed in a large cluster, else the next best that is known
    BASELINE = "baseline"  # as between two nodes: ideal scaling
    UNLIMITED = "unlimited"  # storage alone
