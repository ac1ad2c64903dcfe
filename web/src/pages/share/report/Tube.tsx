// The Venturi tube of a phase: its flow passes the stages one after the other. At each stage the
// opening is one over the share of the phase in which the stage was busy: a stage busy all
// the time lets exactly the flow through, one busy half of the time could let through twice as much.
import type { PhaseBottleneck } from "../../../generated/types";

const OPENING_MAX = 4;
const STEP = 104;
const HEIGHT = 48;
const NAME_LENGTH = 16;

/** Half of the opening, in units of the drawing. */
function half(busy: number): number {
  const opening = busy <= 0 ? OPENING_MAX : Math.min(OPENING_MAX, Math.max(1, 1 / busy));
  return ((opening / OPENING_MAX) * HEIGHT) / 2;
}

/** A smooth wall through the middle of each stage, above (-1) or below (1) the axis. */
function wall(halves: number[], sign: 1 | -1): string {
  const ends = [halves[0] ?? 0, ...halves, halves.at(-1) ?? 0];
  const points = ends.map((each, place): [number, number] => [
    STEP * Math.min(Math.max(0, place - 0.5), halves.length),
    HEIGHT / 2 + sign * each,
  ]);
  const [first = [0, 0], ...others] = points;
  let [x0, y0] = first;
  let path = `M${x0} ${y0}`;
  for (const [x1, y1] of others) {
    const middle = (x0 + x1) / 2;
    path += `C${middle} ${y0} ${middle} ${y1} ${x1} ${y1}`;
    [x0, y0] = [x1, y1];
  }
  return path;
}

/** The drawing of one phase; its text is next to it, so screen readers skip it. */
export function Tube({ point: { stages } }: { point: PhaseBottleneck }) {
  const halves = stages.map(({ busy }) => half(busy));
  const width = STEP * halves.length;
  const flow = HEIGHT / OPENING_MAX;
  return (
    <svg
      className="tube"
      width={width}
      height={HEIGHT + 36}
      viewBox={`0 -17 ${width} ${HEIGHT + 36}`}
      aria-hidden="true"
    >
      <rect className="flow" x={0} y={(HEIGHT - flow) / 2} width={width} height={flow} />
      <path className="wall" d={wall(halves, -1)} />
      <path className="wall" d={wall(halves, 1)} />
      {stages.map(({ name, busy, narrowest }, place) => {
        const x = STEP * (place + 0.5);
        const opening = halves[place] ?? 0;
        const kind = narrowest ? "throat" : "stage";
        const above = `M${x} 0V${HEIGHT / 2 - opening}`;
        const below = `M${x} ${HEIGHT / 2 + opening}V${HEIGHT}`;
        return (
          <g key={name}>
            {narrowest && <path className="pinch" d={above + below} />}
            <text className={kind} x={x} y={-6}>
              {name.split(" on ")[0]?.slice(0, NAME_LENGTH)}
            </text>
            <text className={kind} x={x} y={HEIGHT + 14}>
              busy {Math.round(100 * busy)}%
            </text>
          </g>
        );
      })}
    </svg>
  );
}
