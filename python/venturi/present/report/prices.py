"""The price table as the page shows it."""

from __future__ import annotations

from collections.abc import Sequence

from venturi.model.price import Bandwidth, PricedType
from venturi.model.stats import Missing
from venturi.present.report.data import Number, Price, Text, number


def _because(priced: PricedType, *names: str) -> str:
    """The reasons that concern `names` (`nodes`, `price`, `B_storage`, `B_network`), or all."""
    chosen = [reason for reason in priced.missing if reason.startswith(names)]
    if len(names) == 1:  # its column says already which it is
        chosen = [reason.partition(": ")[2] or reason for reason in chosen]
    return "; ".join(chosen or priced.missing) or "not known"


def _kind(bandwidth: Bandwidth | None) -> str:
    if bandwidth is None:
        return ""
    return f"{bandwidth.kind}, at most" if bandwidth.upper_bound else str(bandwidth.kind)


def _bandwidth(bandwidth: Bandwidth | None, reason: str) -> tuple[Number, Text]:
    """A rate, and where it comes from: source, note, date."""
    if bandwidth is None:
        return Missing(reason), Missing(reason)
    parts = [bandwidth.source, bandwidth.note]
    if bandwidth.as_of is not None:
        parts.append(bandwidth.as_of.isoformat())
    return bandwidth.bytes_per_s, "; ".join(part for part in parts if part)


def price_row(priced: PricedType) -> Price:
    """One row; what is not known carries the model's own reason."""
    storage, storage_known = _bandwidth(priced.storage, _because(priced, "B_storage"))
    network, network_known = _bandwidth(priced.network, _because(priced, "B_network"))
    no_cost = _because(priced, "price") if priced.elapsed_s is not None else "no time to price"
    return Price(
        instance_type=priced.instance_type,
        nodes=number(priced.nodes, _because(priced, "nodes")),
        elapsed_s=number(priced.elapsed_s, _because(priced, "nodes", "B_")),
        cost_usd=number(priced.cost_usd, no_cost),
        lower_bound=priced.lower_bound,
        bottleneck=priced.bottleneck or Missing(_because(priced, "bottleneck")),
        storage_bytes_per_s=storage,
        storage_kind=_kind(priced.storage),
        storage_known=storage_known,
        network_bytes_per_s=network,
        network_kind=_kind(priced.network),
        network_known=network_known,
        price_usd_per_hour=number(
            priced.price.amount if priced.price else None, _because(priced, "price")
        ),
        price_as_of=_date(priced),
        price_is_stale=bool(priced.price_is_stale),
        price_source=priced.price.source if priced.price else Missing(_because(priced, "price")),
        known=priced.cost_usd is not None and priced.elapsed_s is not None,
    )


def _date(priced: PricedType) -> Text:
    if priced.price is None:
        return Missing(_because(priced, "price"))
    return priced.price.as_of


def price_rows(priced: Sequence[PricedType]) -> tuple[Price, ...]:
    """The table, in the order given."""
    return tuple(price_row(each) for each in priced)
