"""Hourly cost of an owned machine, as a tariff."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from venturi.core.domain import invalid, need_rate, need_size
from venturi.machines.catalog import InstanceType
from venturi.machines.cost.price import PriceComponent, Tariff, currency_of, one_currency

HOURS_PER_YEAR = 8760.0


@dataclass(frozen=True, slots=True)
class OnPremises:
    """One owned node. Amounts are in `currency`; fields that are None are left out, with a note.

    `maintenance` covers all `years` together. The utilization is the share of all hours in which
    the node works, so that its price per hour of work covers idle hours; 1 is optimistic. ALOJA's
    published costs use 1 ("fully utilized at all times").
    """

    capital: float
    years: float
    currency: str
    source: str
    as_of: date | None
    utilisation: float = 1.0
    maintenance: float = 0.0
    residual_value: float = 0.0
    power_w: float | None = None
    pue: float = 1.0
    per_kwh: float | None = None
    space_per_year: float | None = None
    staff_per_year: float | None = None

    def __post_init__(self) -> None:
        need_rate("years", self.years)
        for name in ("capital", "years", "maintenance", "residual_value"):
            need_size(name, getattr(self, name))
        for name in ("power_w", "per_kwh", "space_per_year", "staff_per_year"):
            need_size(name, getattr(self, name) or 0.0)
        if self.residual_value > self.capital + self.maintenance:
            raise invalid("residual_value", self.residual_value, "at most the purchase price")
        if not 0 < self.utilisation <= 1:
            raise invalid("utilisation", self.utilisation, "above 0 and at most 1")
        if not 1 <= self.pue < float("inf"):
            raise invalid("pue", self.pue, "at least 1: total power over that of the machines")
        one_currency([self.currency])

    def tariff(self) -> Tariff:
        """Per hour of work: (capital + maintenance - residual) / (years * 8760 * utilization).

        Adds power (kW * PUE * price per kWh), and space and staff, which cost money all year: per
        year / (8760 * utilization). Time is not rounded: billed equals metered.
        """
        worked_h = HOURS_PER_YEAR * self.utilisation
        spent = self.capital + self.maintenance - self.residual_value
        assumptions = [
            f"utilization {self.utilisation:g}: in use {100 * self.utilisation:g} % of all hours",
            f"capital {self.capital:g} + maintenance {self.maintenance:g}"
            f" - residual value {self.residual_value:g} {self.currency}, over {self.years:g} years",
        ]
        parts = []
        if self.power_w is None or self.per_kwh is None:
            assumptions.append("power is left out: its draw or its price is missing")
        else:
            assumptions.append("no power is drawn in idle hours")
            formula = (
                f"{self.power_w / 1000:g} kW x PUE {self.pue:g} x {self.per_kwh:g}"
                f" {self.currency}/kWh"
            )
            per_hour = self.power_w / 1000 * self.pue * self.per_kwh
            parts.append(self._part("power", per_hour, formula))
        for name, per_year in (("space", self.space_per_year), ("staff", self.staff_per_year)):
            if per_year is None:
                assumptions.append(f"{name} is left out: not given")
                continue
            formula = (
                f"{per_year:g} {self.currency}/year / (8760 h x utilization {self.utilisation:g})"
            )
            parts.append(self._part(name, per_year / worked_h, formula))
        return Tariff(
            spent / (self.years * worked_h),
            self.currency,
            0.0,
            0.0,
            0.0,
            self.as_of,
            self.source,
            tuple(parts),
            tuple(assumptions),
        )

    def _part(self, name: str, per_hour: float, formula: str) -> PriceComponent:
        return PriceComponent(name, per_hour, self.currency, 1, self.as_of, self.source, formula)


def on_premises_of(
    instance_type: InstanceType, years: float, utilisation: float = 1.0
) -> OnPremises | None:
    """Purchase price and power from the catalog, or None if it has no `capital`.

    The owner sets the other fields with `dataclasses.replace`.
    """
    fact = instance_type.fact("capital")
    if not isinstance(fact.value, float):
        return None
    return OnPremises(
        fact.value,
        years,
        currency_of(fact),
        fact.source,
        fact.as_of,
        utilisation,
        power_w=instance_type.number("power"),
    )
