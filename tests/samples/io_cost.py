"""The I/O cost equations of two-pass ("2-IO") data-intensive jobs, one small function each:
what the general model (`machines/cost/dataflow.py`) is compared with.

Source: M. Conley, A. Vahdat, G. Porter, "Achieving Cost-efficient, Data-intensive Computing in the
Cloud", SoCC 2015, section 3.3. The numbers in the docstrings are that paper's. Sizes and
bandwidths are per node; a bandwidth of `math.inf` means that the resource is no limit. Every
record is read twice and written twice. Work is taken as bound by I/O: no computing, scheduling or
start-up time.
"""

from __future__ import annotations

from venturi.core.domain import need_rate, need_size
from venturi.core.units import SECONDS_PER_HOUR


def _transfer_s(size_name: str, size_bytes: float, rate_name: str, bytes_per_s: float) -> float:
    need_size(size_name, size_bytes)
    need_rate(rate_name, bytes_per_s)
    return size_bytes / bytes_per_s


def map_shuffle_s(
    input_bytes: float,
    intermediate_bytes: float,
    read_bytes_per_s: float,
    write_bytes_per_s: float,
    network_bytes_per_s: float,
) -> float:
    """Seconds of map and shuffle. (1): max(M_in/B_read, M_out/B_write, M_out/B_network)."""
    return max(
        _transfer_s("input_bytes", input_bytes, "read_bytes_per_s", read_bytes_per_s),
        _transfer_s(
            "intermediate_bytes", intermediate_bytes, "write_bytes_per_s", write_bytes_per_s
        ),
        _transfer_s(
            "intermediate_bytes", intermediate_bytes, "network_bytes_per_s", network_bytes_per_s
        ),
    )


def sort_map_shuffle_s(
    data_bytes: float, storage_bytes_per_s: float, network_bytes_per_s: float
) -> float:
    """Seconds of a sort's map and shuffle. (2): max(D/B_storage, D/B_network)."""
    return map_shuffle_s(
        data_bytes, data_bytes, storage_bytes_per_s, storage_bytes_per_s, network_bytes_per_s
    )


def sort_reduce_s(
    intermediate_bytes: float,
    output_bytes: float,
    read_bytes_per_s: float,
    write_bytes_per_s: float,
) -> float:
    """Seconds of sort and reduce. (3): max(M_out/B_read, R_out/B_write)."""
    return max(
        _transfer_s("intermediate_bytes", intermediate_bytes, "read_bytes_per_s", read_bytes_per_s),
        _transfer_s("output_bytes", output_bytes, "write_bytes_per_s", write_bytes_per_s),
    )


def sort_sort_reduce_s(data_bytes: float, storage_bytes_per_s: float) -> float:
    """Seconds of a sort's sort and reduce. (4): D/B_storage."""
    return sort_reduce_s(data_bytes, data_bytes, storage_bytes_per_s, storage_bytes_per_s)


def storage_bytes_per_s(read_bytes_per_s: float, write_bytes_per_s: float) -> float:
    """Storage bandwidth in bytes per second. (5): min(B_read, B_write).

    Both must be rates of concurrent reading and writing, like DiskBench's.
    """
    need_rate("read_bytes_per_s", read_bytes_per_s)
    need_rate("write_bytes_per_s", write_bytes_per_s)
    return min(read_bytes_per_s, write_bytes_per_s)


def sort_s(data_bytes: float, storage_bytes_per_s: float, network_bytes_per_s: float) -> float:
    """Seconds of a whole sort. (6): max(D/B_storage, D/B_network) + D/B_storage."""
    return sort_map_shuffle_s(
        data_bytes, storage_bytes_per_s, network_bytes_per_s
    ) + sort_sort_reduce_s(data_bytes, storage_bytes_per_s)


def cost_usd(usd_per_node_hour: float, elapsed_s: float, nodes: int) -> float:
    """US dollars of a cluster. (7): N * C_hourly * T, by the second, without rounding to hours."""
    need_size("usd_per_node_hour", usd_per_node_hour)
    need_size("elapsed_s", elapsed_s)
    need_size("nodes", nodes)
    return nodes * usd_per_node_hour * elapsed_s / SECONDS_PER_HOUR


def replicated_sort_reduce_s(
    intermediate_bytes: float,
    output_bytes: float,
    read_bytes_per_s: float,
    write_bytes_per_s: float,
    network_bytes_per_s: float,
) -> float:
    """Seconds of sort and reduce with one remote copy of each output file.

    (8): max(M_out/B_read, 2 R_out/B_write, R_out/B_network).
    """
    return max(
        sort_reduce_s(intermediate_bytes, 2 * output_bytes, read_bytes_per_s, write_bytes_per_s),
        _transfer_s("output_bytes", output_bytes, "network_bytes_per_s", network_bytes_per_s),
    )


def replicated_sort_sort_reduce_s(
    data_bytes: float,
    read_bytes_per_s: float,
    write_bytes_per_s: float,
    network_bytes_per_s: float,
) -> float:
    """Seconds of a sort's sort and reduce with one remote copy of each output file.

    (9): max(D/B_read, 2 D/B_write, D/B_network).
    """
    return replicated_sort_reduce_s(
        data_bytes, data_bytes, read_bytes_per_s, write_bytes_per_s, network_bytes_per_s
    )


def volume_map_shuffle_s(
    data_bytes: float,
    volume_read_bytes_per_s: float,
    local_write_bytes_per_s: float,
    network_bytes_per_s: float,
) -> float:
    """Seconds of a sort's map and shuffle, its input on network volumes.

    (10): max(D/B_EBS,read, D/B_write, D/B_network).
    """
    return map_shuffle_s(
        data_bytes,
        data_bytes,
        volume_read_bytes_per_s,
        local_write_bytes_per_s,
        network_bytes_per_s,
    )


def volume_sort_reduce_s(
    data_bytes: float, local_read_bytes_per_s: float, volume_write_bytes_per_s: float
) -> float:
    """Seconds of a sort's sort and reduce, its output on network volumes.

    (11): max(D/B_read, D/B_EBS,write).
    """
    return sort_reduce_s(data_bytes, data_bytes, local_read_bytes_per_s, volume_write_bytes_per_s)


def sort_cost_usd(
    total_bytes: float,
    usd_per_node_hour: float,
    storage_bytes_per_s: float,
    network_bytes_per_s: float,
) -> float:
    """US dollars to sort `total_bytes` on any number of nodes: (6) in (7), where N cancels.

    C_hourly/3600 * D_total * (1/min(B_storage, B_network) + 1/B_storage).
    """
    return cost_usd(
        usd_per_node_hour, sort_s(total_bytes, storage_bytes_per_s, network_bytes_per_s), nodes=1
    )


def remote_share(hosts: int, workers_per_host: int = 1) -> float:
    """Share of a worker's peers that are on other hosts: (h - 1) w / (h w - 1).

    Data sent to a random peer cross the network with this probability: 1 with one worker per host,
    less with several, because they exchange data within the host.
    """
    fellows = hosts * workers_per_host - 1
    return (hosts - 1) * workers_per_host / fellows if fellows else 0.0


def replica_bytes_per_host(
    written_bytes: float, replicas: int, hosts: int, workers_per_host: int = 1
) -> float:
    """Bytes that leave each host when `written_bytes` are stored `replicas` times (HDFS).

    (r - 1) * D * remote_share / h: the first replica is written where the data is, each other one
    sent on to a worker chosen at random.
    """
    return (replicas - 1) * written_bytes * remote_share(hosts, workers_per_host) / hosts
