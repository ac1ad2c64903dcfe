// The load of a host while a trial ran, and the trial's stages, for the charts.
import type { Track } from "../../../../charts/timeline";
import type { Trial } from "../../../../generated/record";
import type { ReportStage, SeriesData, SeriesLine } from "../../../../generated/types";
import type { Plain } from "../../../../missing";

type Values = (number | null)[];

// Line -> role of its color, and the sampler's metrics that make it up (the kernel splits finer).
const CPU = [
  ["user", "cpu-user", ["cpu_user", "cpu_nice"]],
  ["system", "cpu-system", ["cpu_system", "cpu_irq", "cpu_softirq"]],
  ["waiting for I/O", "cpu-iowait", ["cpu_iowait"]],
  ["stolen by the hypervisor", "cpu-steal", ["cpu_steal"]],
] as const;

const VIRTUAL = /^(loop|ram|zram|dm-|md)/;

/**
 * Whether counting `device` with the others would count the same bytes twice: partitions lie on
 * disks, device-mapper and RAID devices on other devices of the list.
 */
function stacked(device: string, devices: readonly string[]): boolean {
  if (VIRTUAL.test(device)) return devices.some((other) => !VIRTUAL.test(other));
  return devices.some(
    (other) =>
      other !== device && device.startsWith(other) && /^p?\d+$/.test(device.slice(other.length)),
  );
}

/** The sum at each time of the lines that have a value there. */
const sum = (lines: readonly SeriesLine[], moments: number): Values =>
  Array.from({ length: moments }, (_, at) => {
    const values = lines.map(({ values: of }) => of[at] ?? null).filter((value) => value !== null);
    return values.length ? values.reduce((total, value) => total + value, 0) : null;
  });

/** The maximum at each time of the lines that have a value there: for means, their peaks. */
const greatest = (lines: readonly SeriesLine[], moments: number): Values =>
  Array.from({ length: moments }, (_, at) => {
    const values = lines
      .map(({ values: of, highest }) => highest[at] ?? of[at] ?? null)
      .filter((value) => value !== null);
    return values.length ? Math.max(...values) : null;
  });

/** CPU, disk and network of a host, as far as known. */
export function lanesOf({ lines, t_s }: SeriesData): Track[] {
  const of = (metrics: readonly string[]) => lines.filter(({ metric }) => metrics.includes(metric));
  const disks = [...new Set(of(["disk_read_bytes_per_s"]).map(({ device }) => device ?? ""))];
  const disk = (metric: string) =>
    of([metric]).filter(({ device }) => device === null || !stacked(device, disks));
  const network = (metric: string) => of([metric]).filter(({ device }) => device !== "lo");
  const line = (name: string, role: string, parts: readonly SeriesLine[]) => ({
    name,
    role,
    values: sum(parts, t_s.length),
  });
  const lanes: Track[] = [
    {
      title: "CPU",
      unit: "fraction",
      stacked: true,
      lines: CPU.map(([name, role, metrics]) => line(name, role, of(metrics))),
    },
    {
      title: "Disk",
      unit: "B/s",
      stacked: false,
      lines: [
        line("read", "read", disk("disk_read_bytes_per_s")),
        line("write", "write", disk("disk_write_bytes_per_s")),
      ],
    },
    {
      title: "Disk busy",
      unit: "fraction",
      unitName: "% of the time",
      stacked: false,
      lines: [
        {
          name: "busiest disk",
          role: "blocked",
          values: greatest(disk("disk_busy"), t_s.length),
        },
      ],
    },
    {
      title: "Network",
      unit: "B/s",
      stacked: false,
      lines: [
        line("receive", "read", network("net_receive_bytes_per_s")),
        line("transmit", "write", network("net_transmit_bytes_per_s")),
      ],
    },
  ];
  // In a stack, a line that is always zero would only lie on the one below.
  const known = ({ values }: { values: Values }, stacked: boolean) =>
    values.some((value) => value !== null && (value > 0 || !stacked));
  return lanes
    .map((lane) => ({ ...lane, lines: lane.lines.filter((line) => known(line, lane.stacked)) }))
    .filter((lane) => lane.lines.length > 0);
}

/** The stages of a trial, from its samples; those that `narrowest` names begin with are marked. */
export function stagesOf(trial: Trial): Plain<ReportStage>[] {
  const found = new Map<string, Plain<ReportStage>>();
  for (const { metric, phase, labels, value } of trial.samples) {
    const { stage, device = null } = labels;
    if (!metric.startsWith("stage_") || stage == null || phase === null) continue;
    const key = JSON.stringify([phase, stage, device]);
    const entry = found.get(key) ?? {
      phase,
      name: String(stage),
      device: device === null ? null : String(device),
      workers: null,
      bytes: null,
      useful_s: null,
      idle_s: null,
      waiting_for_memory_s: null,
      blocked_s: null,
      cpu_s: null,
      core_wait_s: null,
      page_faults: null,
      started_s: null,
      ended_s: null,
      narrowest: false,
    };
    const name = metric.slice("stage_".length);
    if (name in entry) found.set(key, { ...entry, [name]: value });
  }
  const order = trial.phases.map(({ name }) => name);
  return [...found.values()].sort((a, b) => order.indexOf(a.phase) - order.indexOf(b.phase));
}
