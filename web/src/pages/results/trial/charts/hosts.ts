// The hosts of a trial compared: a small chart each, all on one scale.

import { base, type Drawing, quietAxis, tip, type View } from "../../../../charts/view";
import type { HostOverTime, HostsOverTime } from "../../../../generated/types";
import { duration, percent, rate } from "../../../../units";

/** The devices to choose from. */
export const SHOWN = {
  processor: "CPU busy",
  disk: "Busiest disk busy",
  network: "Network, larger direction",
} as const;
export type Shown = keyof typeof SHOWN;

/** The device to show first: the one that makes a host the narrowest, or else disks. */
export function firstShown({ device, hosts }: HostsOverTime): Shown {
  if (device?.startsWith("disk")) return "disk";
  if (device === "network") return "network";
  const known = hosts.some(({ lines }) => lines.disk_busy.some((value) => value !== null));
  return known && !hosts.some(({ narrowest }) => narrowest) ? "disk" : "processor";
}

export const valuesOf = ({ lines }: HostOverTime, shown: Shown): readonly (number | null)[] =>
  ({
    processor: lines.processor,
    disk: lines.disk_busy,
    network: lines.network_bytes_per_s,
  })[shown];

const CELL_PX = 150;
const PLOT_PX = 56;
const TITLE_PX = 20;
const GAP_PX = 14;
const LEFT_PX = 34;
const AXIS_PX = 22;

/** The scale that all hosts share: from nothing to all of the time, or a round rate in MB/s. */
export function scaleOf(hosts: readonly HostOverTime[], shown: Shown): number {
  if (shown !== "network") return 100;
  const most = hosts
    .flatMap((host) => valuesOf(host, shown).map((value) => (value ?? 0) * 1e-6))
    .reduce((a, b) => Math.max(a, b), 1);
  const power = 10 ** Math.floor(Math.log10(most));
  return ([1, 2, 4, 6, 8, 10].find((step) => step * power >= most) ?? 10) * power;
}

type Datum = { seriesIndex: number; dataIndex: number };

/** The tooltip of one value of a host. */
function tipOf({ hosts, t_s }: HostsOverTime, shown: Shown, { seriesIndex, dataIndex }: Datum) {
  const host = hosts[seriesIndex];
  if (!host) return "";
  const value = valuesOf(host, shown)[dataIndex] ?? null;
  const text = value === null ? "—" : shown === "network" ? rate(value) : percent(value);
  return tip(`${host.host} · ${duration(t_s[dataIndex] ?? 0)}`, [`${SHOWN[shown]}: ${text}`]);
}

/** A row of small charts after the other; the narrowest host has another color, and says so. */
export function hostsChart(found: HostsOverTime, shown: Shown, view: View): Drawing {
  const { hosts, t_s } = found;
  if (hosts.length === 0) return null;
  const columns = Math.max(1, Math.min(hosts.length, Math.floor(view.width / CELL_PX)));
  const cell = view.width / columns;
  const most = scaleOf(hosts, shown);
  const factor = shown === "network" ? 1e-6 : 100;
  const end = (t_s.at(-1) ?? 0) + (t_s[0] ?? 0);
  const row = (place: number) => Math.floor(place / columns);
  const left = (place: number) => (place % columns) * cell;
  const top = (place: number) => row(place) * (TITLE_PX + PLOT_PX + GAP_PX);
  const isLast = (place: number) => place + columns >= hosts.length;
  const axis = quietAxis(view);
  return {
    height: top(hosts.length - 1) + TITLE_PX + PLOT_PX + AXIS_PX,
    option: {
      ...base(view),
      tooltip: {
        ...(base(view).tooltip as object),
        trigger: "axis",
        formatter: (items: Datum[]) => (items[0] ? tipOf(found, shown, items[0]) : ""),
      },
      title: hosts.map((host, place) => ({
        text: host.narrowest ? `${host.host} · narrowest` : host.host,
        left: left(place) + LEFT_PX,
        top: top(place) + 2,
        padding: 0,
        textStyle: {
          fontSize: 12,
          fontWeight: host.narrowest ? 700 : 600,
          color: view.color(host.narrowest ? "ink" : "muted"),
          fontFamily: view.font,
          width: cell - GAP_PX,
          overflow: "truncate",
        },
      })),
      grid: hosts.map((_, place) => ({
        left: left(place) + LEFT_PX,
        top: top(place) + TITLE_PX,
        width: cell - LEFT_PX - GAP_PX,
        height: PLOT_PX,
      })),
      xAxis: hosts.map((_, place) => ({
        type: "value",
        gridIndex: place,
        min: 0,
        max: end,
        splitNumber: 2,
        ...axis,
        splitLine: { show: false },
        axisLine: { show: true, lineStyle: { color: view.color("outline") } },
        axisLabel: {
          ...axis.axisLabel,
          show: isLast(place),
          showMaxLabel: false,
          formatter: (value: number) => `${Number(value.toFixed(1))} s`,
        },
        axisPointer: { label: { show: false } },
      })),
      yAxis: hosts.map((_, place) => ({
        type: "value",
        gridIndex: place,
        min: 0,
        max: most,
        interval: most / 2,
        ...axis,
        axisLabel: { ...axis.axisLabel, show: place % columns === 0, hideOverlap: false },
        axisPointer: { show: false },
      })),
      series: hosts.map((host, place) => {
        const color = view.color(host.narrowest ? "blocked" : "read");
        return {
          type: "line",
          name: host.host,
          xAxisIndex: place,
          yAxisIndex: place,
          data: valuesOf(host, shown).map((value, at) => [
            t_s[at] ?? 0,
            value === null ? null : value * factor,
          ]),
          connectNulls: false,
          showSymbol: t_s.length < 3,
          lineStyle: { width: host.narrowest ? 2 : 1.25, color },
          itemStyle: { color },
          areaStyle: { color, opacity: host.narrowest ? 0.3 : 0.15 },
        };
      }),
    },
  };
}
