// Machines by price and capacity; changes between two catalogs.

import { axisFor, names } from "../../../charts/common";
import { items, labelRoom, layer, type Named, plotOf, type Shape } from "../../../charts/plot";
import { type Row, rowsChart } from "../../../charts/rows";
import { axisOf } from "../../../charts/scale";
import { base, type Drawing, pointTip, tip, type View } from "../../../charts/view";
import { bytes, plain } from "../../../format";
import type { Change, TypeRow } from "../../../generated/types";
import { valueText } from "./facts";

/** The capacities of a machine, by the field of its row. */
export const BRINGS = {
  memory_bytes: { name: "memory", tell: bytes },
  local_bytes: { name: "local disks", tell: bytes },
  storage_bytes_per_s: { name: "storage rate", tell: (value: number) => `${bytes(value)}/s` },
  network_bytes_per_s: { name: "network rate", tell: (value: number) => `${bytes(value)}/s` },
} as const;
export type Brings = keyof typeof BRINGS;

const HEIGHT_PX = 380;
const RADIUS_PX = 5;

interface Point {
  name: string;
  price: number;
  value: number;
  stale: boolean;
}

const pointsOf = (types: readonly TypeRow[], brings: Brings): Point[] =>
  types.flatMap((type) => {
    const [price, value] = [type.price_usd_per_hour, type[brings]];
    if (typeof price !== "number" || typeof value !== "number" || price <= 0 || value <= 0)
      return [];
    return [{ name: type.instance_type, price, value, stale: type.price_is_stale }];
  });

/** A point for each type with a known price and a known `brings`, on logarithmic scales. */
export function typesByPrice(
  types: readonly TypeRow[],
  brings: Brings,
  chosen: string | null,
  view: View,
): Drawing {
  // The chosen one is named, and drawn, before and above all others.
  const points = pointsOf(types, brings).sort(
    (a, b) => Number(b.name === chosen) - Number(a.name === chosen),
  );
  if (points.length === 0) return null;
  const { name, tell } = BRINGS[brings];
  const horizontal: Named = {
    axis: axisFor(
      points.map(({ price }) => price),
      view.narrow ? 4 : 8,
      true,
    ),
    name: "price (US$ per hour)",
    format: (value) => `$${plain(value)}`,
  };
  const vertical: Named = {
    axis: axisFor(
      points.map(({ value }) => value),
      6,
      true,
    ),
    name,
    format: tell,
  };
  const left = labelRoom(vertical);
  const box = { left, top: 34, right: view.width - 16, bottom: HEIGHT_PX - 52 };
  const plot = plotOf(horizontal, vertical, box, view);
  const places = points.map((point) => ({
    x: plot.x(point.price),
    y: plot.y(point.value),
    radius: RADIUS_PX,
    text: point.name,
    role: point.name === chosen ? "throat" : "ink",
    bold: point.name === chosen,
    must: point.name === chosen,
  }));
  const dots = places.map(({ x, y }, place): Shape[] => {
    const color = view.color(points[place]?.name === chosen ? "throat" : "read");
    return [
      {
        type: "circle",
        shape: { cx: x, cy: y, r: RADIUS_PX },
        style: {
          fill: points[place]?.stale ? view.color("surface") : color,
          stroke: color,
          lineWidth: 1.5,
        },
      },
    ];
  });
  const at: [number, number] = [horizontal.axis.minimum, vertical.axis.minimum];
  const named = names(places, [], [], box, view);
  return {
    height: HEIGHT_PX,
    option: {
      ...base(view),
      ...plot.option,
      tooltip: pointTip(view, (index) => {
        const point = points[index];
        return point
          ? tip(point.name, [
              `$${plain(point.price)} per hour${point.stale ? ", more than a year old" : ""}`,
              `${name} ${tell(point.value)}`,
            ])
          : "";
      }),
      series: [items(dots, at, { z: 3 }), layer(named, at, 4)],
    },
  };
}

const MOST_CHANGES = 40;

/** Relative changes of figures, the greatest first. */
export function changes(rows: readonly Change[], view: View): Drawing {
  const known = rows
    .flatMap((row) => (row.relative === null ? [] : [{ ...row, by: row.relative }]))
    .sort((a, b) => Math.abs(b.by) - Math.abs(a.by))
    .slice(0, MOST_CHANGES);
  if (known.length === 0) return null;
  const values = known.map(({ by }) => 100 * (1 + by));
  const axis = axisOf([100, ...values], view.narrow ? 4 : 8);
  const scale = { ...axis, name: "new value in % of the old", format: plain };
  const drawn = known.map(
    ({ instance_type: type, attribute, old, new: now, by }): Row => ({
      label: `${type} ${attribute}`,
      bars: [
        { from: Math.min(100, 100 * (1 + by)), to: Math.max(100, 100 * (1 + by)), role: "read" },
      ],
      text: `${by > 0 ? "+" : ""}${(100 * by).toFixed(1)}%`,
      textAt: axis.maximum,
      details: [`${valueText(old)} → ${valueText(now)}`],
    }),
  );
  return rowsChart(drawn, scale, view, 260);
}
