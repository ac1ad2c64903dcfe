// Each sort of a report: its figures, its phases with the host's load, its stages.
import { stages } from "../../../charts/stages";
import { timeAxis } from "../../../charts/timeline";
import type {
  PhaseBottleneck,
  ReportData,
  ReportStage,
  ReportTimeline,
  SortTrial,
} from "../../../generated/types";
import { isMissing, plain } from "../../../missing";
import { Chart } from "../../../parts/Chart";
import {
  type Column,
  Grid,
  Legend,
  Nothing,
  Section,
  Tell,
  Twin,
  words,
} from "../../../parts/Sections";
import { count, memory, share, size } from "../../../report-units";
import { duration, rate } from "../../../units";
import { Tube } from "./Tube";

/** Every line of every lane, in the order of the means of a phase. */
const linesOf = ({ lanes }: ReportTimeline) =>
  lanes.flatMap((lane) => lane.lines.map((line) => ({ lane, line })));

const at = (seconds: number) => `${seconds.toFixed(1)} s`;

function loadColumns(timeline: ReportTimeline): Column<ReportTimeline["spans"][number]>[] {
  const { loads } = timeline;
  const lines = loads.length > 0 ? linesOf(timeline) : [];
  return [
    { head: "Phase", names: true, cell: (span) => span.name },
    { head: "Starts at", kind: "n", cell: (span) => at(span.started_s) },
    { head: "Lasts", kind: "n", cell: (span) => duration(span.elapsed_s) },
    ...lines.map(
      ({ lane, line }, index): Column<ReportTimeline["spans"][number]> => ({
        head: `${lane.title}: ${line.name}`,
        kind: "n",
        cell: (_, row) => (
          <Tell
            value={loads[row]?.values[index] ?? { reason: "no sample in this phase" }}
            as={lane.unit === "fraction" ? share : rate}
          />
        ),
      }),
    ),
  ];
}

const momentColumns = (timeline: ReportTimeline): Column<number>[] => [
  { head: "At", kind: "n", names: true, cell: at },
  ...linesOf(timeline).map(
    ({ lane, line }): Column<number> => ({
      head: `${lane.title}: ${line.name} (${lane.unit === "fraction" ? "%" : "MB/s"})`,
      kind: "n",
      cell: (_, row) => {
        const value = line.values[row] ?? null;
        if (value === null) return "—";
        return (lane.unit === "fraction" ? 100 * value : value / 1e6).toFixed(1);
      },
    }),
  ),
];

const USE_COLORS = [
  ["cpu-user", "user"],
  ["cpu-system", "system"],
  ["cpu-iowait", "waiting for I/O"],
  ["cpu-steal", "stolen by the hypervisor"],
  ["read", "disk read, network received"],
  ["write", "disk written, network sent"],
] as const;

function Phases({ sort }: { sort: SortTrial }) {
  const { thinned, lanes, spans, t_s: times } = sort.timeline;
  return (
    <figure>
      <figcaption>
        <h4>Phases and host</h4>
        <p>
          Seconds since the trial started.
          {thinned && ` ${thinned.charAt(0).toUpperCase()}${thinned.slice(1).toLowerCase()}.`}
          {lanes.map(
            (lane) =>
              lane.missing && (
                <span key={lane.title}>
                  {" "}
                  {lane.title}: {words(lane.missing)}.
                </span>
              ),
          )}
        </p>
      </figcaption>
      {spans.length === 0 ? (
        <Nothing>No phase was timed.</Nothing>
      ) : (
        <>
          {times.length > 0 && <Legend entries={USE_COLORS} />}
          <Chart
            label={`Phases of ${sort.label} with CPU, disk and network load over time`}
            draw={(view) => timeAxis(sort.timeline, view)}
          />
          <Twin label={`mean host load per phase, ${sort.label}`}>
            <Grid columns={loadColumns(sort.timeline)} rows={spans} />
          </Twin>
          {times.length > 0 && (
            <Twin label={`host load over time, ${sort.label}`}>
              <Grid columns={momentColumns(sort.timeline)} rows={times} />
              <p className="aside">— means that the sampler had no value at that time.</p>
            </Twin>
          )}
        </>
      )}
    </figure>
  );
}

const timeOf = (
  head: string,
  of: (stage: ReportStage) => ReportStage["useful_s"],
): Column<ReportStage> => ({
  head,
  kind: "n",
  cell: (stage) => <Tell value={of(stage)} as={duration} />,
});

const STAGES: Column<ReportStage>[] = [
  { head: "Phase", cell: (stage) => stage.phase },
  {
    head: "Stage",
    names: true,
    cell: (stage) => (
      <>
        {stage.name}
        {stage.narrowest && <strong className="throat"> narrowest</strong>}
      </>
    ),
  },
  { head: "Device", cell: (stage) => stage.device || "none (memory only)" },
  { head: "Workers", kind: "n", cell: (stage) => <Tell value={stage.workers} as={count} /> },
  { head: "Moved", kind: "n", cell: (stage) => <Tell value={stage.bytes} as={size} /> },
  timeOf("Busy", (stage) => stage.useful_s),
  timeOf("CPU time", (stage) => stage.cpu_s),
  timeOf("Waiting for a core", (stage) => stage.core_wait_s),
  timeOf("Idle", (stage) => stage.idle_s),
  timeOf("Waiting for memory", (stage) => stage.waiting_for_memory_s),
  timeOf("Blocked", (stage) => stage.blocked_s),
  {
    head: "Page faults",
    kind: "n",
    cell: (stage) => <Tell value={stage.page_faults} as={count} />,
  },
  timeOf("Starts at", (stage) => stage.started_s),
  timeOf("Ends at", (stage) => stage.ended_s),
];

function Stages({ sort }: { sort: SortTrial }) {
  return (
    <figure>
      <figcaption>
        <h4>Stages</h4>
        <p>
          Each bar runs from a stage's start to its end. Its fill shows how its workers spent that
          time, as shares.
        </p>
      </figcaption>
      {sort.stages.length === 0 ? (
        <Nothing>
          The engine reported no stages{sort.failure && ": the sort did not finish"}.
        </Nothing>
      ) : (
        <>
          <Legend
            entries={[
              ["useful", "busy"],
              ["idle", "idle: no input"],
              ["memory", "waiting for memory"],
              ["blocked", "blocked: next stage full"],
              ["narrow", "narrowest point"],
            ]}
          />
          <Chart
            label={`Stages of ${sort.label}: when each ran and how its workers spent the time`}
            draw={(view) => stages(plain(sort.stages), view)}
          />
          <Twin label={`stages, ${sort.label}`}>
            <Grid columns={STAGES} rows={sort.stages} />
          </Twin>
        </>
      )}
    </figure>
  );
}

function Throat({ point }: { point: PhaseBottleneck }) {
  return (
    <li>
      <p className="phase">{point.phase}</p>
      {point.stages.length > 1 && <Tube point={point} />}
      <p>
        {isMissing(point.name) ? (
          <>
            <strong>Cannot tell</strong>: {point.name.reason}
          </>
        ) : (
          <strong className="throat">{point.name}</strong>
        )}
      </p>
      {point.evidence.length > 0 && (
        <ul className="evidence">
          {point.evidence.map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
      )}
    </li>
  );
}

function Throats({ points }: { points: PhaseBottleneck[] }) {
  if (points.length === 0) return null;
  return (
    <>
      <h4>Narrowest point of each phase</h4>
      <p className="aside">
        The flow of the phase, in blue, passes through its stages. A wider tube means that the stage
        could have passed more: its opening is 1 divided by the share of the phase in which it was
        busy.
      </p>
      <ul className="throats">
        {points
          .filter(({ stages }) => stages.length !== 1)
          .map((point) => (
            <Throat point={point} key={point.phase} />
          ))}
      </ul>
      {points.map(({ phase, stages: [only, second] }) =>
        only && !second ? (
          <p className="aside" key={phase}>
            {phase} has only one stage, {only.name}, which was busy for {share(only.busy)} of it.
          </p>
        ) : null,
      )}
    </>
  );
}

function Strip({ sort }: { sort: SortTrial }) {
  const figures = [
    ["Time", sort.elapsed_s, duration],
    ["Input", sort.input_bytes, size],
    ["Spilled", sort.spilled_bytes, size],
    ["CPU time", sort.cpu_s, duration],
    ["Memory budget", sort.memory_bytes, memory],
    ["Peak memory", sort.peak_rss_bytes, memory],
  ] as const;
  return (
    <dl className="strip">
      {figures.map(([name, value, as]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <Tell value={value} as={as} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

export function Sorts({ data }: { data: ReportData }) {
  return (
    <Section id="sorts" title="The sorts, phase by phase">
      {data.sorts.length === 0 && <Nothing>No sort was recorded.</Nothing>}
      {data.sorts.map((sort) => (
        <article id={sort.anchor} aria-labelledby={`${sort.anchor}-title`} key={sort.id}>
          <h3 id={`${sort.anchor}-title`}>
            {sort.label}
            {sort.state !== "succeeded" && <span className="state"> {sort.state}</span>}
          </h3>
          {sort.failure && (
            <p className="failure">
              <strong>{sort.state}:</strong> {sort.failure}
            </p>
          )}
          <Strip sort={sort} />
          <Phases sort={sort} />
          <Stages sort={sort} />
          <Throats points={sort.narrowest} />
        </article>
      ))}
    </Section>
  );
}
