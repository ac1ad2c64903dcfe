// The plan of a query as a graph: where its operators stand, and the rows between them.
import { count } from "../../../../format";
import type { JobOperator, JobQuery } from "../../../../generated/types";

export const NODE = { width: 184, height: 66 };
const GAP = { x: 14, y: 26 };
const WIDEST_PX = 8;

export interface Placed {
  operator: JobOperator;
  /** Its left upper corner, in px. */
  x: number;
  y: number;
}

export interface Graph {
  width: number;
  height: number;
  nodes: Placed[];
  /** From the producer of rows to their consumer; as wide as there are digits of rows. */
  edges: { from: Placed; to: Placed; width: number }[];
}

/** Below how many others each operator stands: who takes its rows is always before it. */
export function depthsOf(operators: readonly JobOperator[]): number[] {
  const depths: number[] = [];
  for (const { parent } of operators) {
    depths.push(parent === null ? 0 : (depths[parent] ?? 0) + 1);
  }
  return depths;
}

/** Rows flow down: what reads stands on top, the result at the bottom, a join below its sides. */
export function planGraph(operators: readonly JobOperator[]): Graph {
  const makers = operators.map((): number[] => []);
  operators.forEach(({ parent }, place) => {
    if (parent !== null) makers[parent]?.push(place);
  });
  const columns: number[] = operators.map(() => 0);
  let free = 0;
  makers.forEach((own, place) => {
    if (own.length === 0) columns[place] = free++;
  });
  for (const [place, own] of [...makers.entries()].reverse()) {
    const [first, last] = [own[0], own.at(-1)];
    if (first !== undefined && last !== undefined) {
      columns[place] = ((columns[first] ?? 0) + (columns[last] ?? 0)) / 2;
    }
  }
  const depths = depthsOf(operators);
  const deepest = Math.max(0, ...depths);
  const nodes = operators.map(
    (operator, place): Placed => ({
      operator,
      x: (columns[place] ?? 0) * (NODE.width + GAP.x),
      y: (deepest - (depths[place] ?? 0)) * (NODE.height + GAP.y),
    }),
  );
  const edges = nodes.flatMap((from) => {
    const to = from.operator.parent === null ? undefined : nodes[from.operator.parent];
    const digits = Math.log10(1 + (from.operator.rows ?? 0));
    return to ? [{ from, to, width: Math.min(WIDEST_PX, 1 + digits) }] : [];
  });
  return {
    width: free * (NODE.width + GAP.x) - GAP.x,
    height: (deepest + 1) * (NODE.height + GAP.y) - GAP.y,
    nodes,
    edges,
  };
}

const listed = (what: string, first: readonly (number | string)[], more: number) => {
  const plural = first.length + more === 1 ? "" : "s";
  return `${what}${plural} ${first.join(", ")}${more > 0 ? ` and ${count(more)} more` : ""}`;
};

/** The jobs and stages of a query, as a sentence. */
export function workWords(work: JobQuery["work"]): string {
  if (work === null) return "The log doesn't say which jobs this query ran.";
  const { jobs, jobs_left_out: moreJobs, stages, stages_left_out: moreStages } = work;
  if (jobs.length === 0) return "This query ran no jobs.";
  const maybe = work.stages_may_be_missing;
  const none = maybe ? "stages that the log lacks" : "no stages";
  const some = `${listed("stage", stages, moreStages)}${maybe ? " and maybe more" : ""}`;
  const ran = stages.length === 0 ? none : some;
  return `Ran ${listed("job", jobs, moreJobs)} with ${ran}.`;
}
