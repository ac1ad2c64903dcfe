// All types of a catalog by time and cost: no option is both faster and cheaper than the frontier.
import { axisFor, names, type Place, timeScale } from "../../../charts/common";
import { items, labelRoom, layer, type Named, plotOf, type Shape } from "../../../charts/plot";
import { base, type Drawing, pointTip, tip, type View } from "../../../charts/view";
import { count, dollars, duration, plain, range } from "../../../format";
import type { RankedOption, TypeRanking } from "../../../generated/types";
import { dot, line, MODEL } from "./charts";

export const RECOMMENDED = "throat";
export const TIED = "write";
export const OTHER = "outline";

type Priced = RankedOption & { usd: NonNullable<RankedOption["usd"]> };

const isPriced = (option: RankedOption): option is Priced => option.usd !== null;

const details = ({ time_s: time, usd, hosts, slots, tied }: Priced): string[] => [
  `${duration(time.value)}, 90 % interval ${range(time, duration)}`,
  dollars(usd.value),
  `${count(slots)} slots on ${count(hosts)} machines`,
  ...(tied ? ["statistically tied with the best"] : []),
];

/** Time against cost of the frontier, with intervals, and of each other type at its best. */
export function frontierChart(ranking: TypeRanking, view: View): Drawing {
  const frontier = ranking.frontier.filter(isPriced);
  const others = ranking.options.filter(isPriced);
  const chosen = ranking.recommended;
  const best = chosen.usd && { name: chosen.name, time_s: chosen.time_s, usd: chosen.usd };
  const drawn = [...frontier, ...others, ...(best ? [best] : [])];
  if (drawn.length === 0) return null;
  const times = drawn.map((each) => each.time_s.value);
  if (best) times.push(best.time_s.low, best.time_s.high);
  const { unit, axis } = timeScale(times, view.narrow ? 4 : 8, { log: true });
  const costs = drawn.map(({ usd }) => usd.value);
  const horizontal: Named = { axis, name: `time (${unit.name})`, format: plain };
  const vertical: Named = { axis: axisFor(costs, 6, true), name: "cost (US$)", format: plain };
  const height = view.narrow ? 360 : 440;
  const box = { left: labelRoom(vertical), top: 36, right: view.width - 18, bottom: height - 46 };
  const plot = plotOf(horizontal, vertical, box, view);
  const x = (timeS: number) => plot.x(timeS / unit.seconds);
  const at = ({ time_s: time, usd }: Pick<Priced, "time_s" | "usd">): [number, number] => [
    x(time.value),
    plot.y(usd.value),
  ];
  const stroke = view.color(MODEL);
  const whiskers = best
    ? [
        line(
          [best.time_s.low, best.time_s.high].map((time) => [x(time), at(best)[1]]),
          view.color(RECOMMENDED),
          { lineWidth: 1.5 },
        ),
      ]
    : [];
  const deadline = ranking.deadline_s;
  const due: Shape[] =
    deadline !== null && x(deadline) <= box.right
      ? [
          line(
            [
              [x(deadline), box.top],
              [x(deadline), box.bottom],
            ],
            view.color("ink"),
            { lineWidth: 1.25, lineDash: [5, 4] },
          ),
        ]
      : [];
  const place = (option: Pick<Priced, "name" | "time_s" | "usd">, bold: boolean): Place => {
    const [px, py] = at(option);
    return { x: px, y: py, radius: 6, text: option.name, role: "ink", bold };
  };
  const ends = [frontier[0], frontier.at(-1)].filter((each) => each !== undefined);
  const places = [...(best ? [place(best, true)] : []), ...ends.map((each) => place(each, false))];
  const origin: [number, number] = [axis.minimum, vertical.axis.minimum];
  const points = [...others, ...frontier];
  return {
    height,
    option: {
      ...base(view),
      ...plot.option,
      tooltip: pointTip(view, (index) => {
        const option = points[index];
        return option ? tip(option.name, details(option)) : "";
      }),
      series: [
        layer([...due, ...whiskers, line(frontier.map(at), stroke)], origin, 2),
        items(
          points.map((option, index) => {
            const [px, py] = at(option);
            const own = index < others.length ? (option.tied ? TIED : OTHER) : MODEL;
            return [dot(px, py, own, false, view)];
          }),
          origin,
          { z: 3 },
        ),
        layer(
          [
            ...(best ? [dot(...at(best), RECOMMENDED, true, view)] : []),
            ...names(places, [], [], box, view),
          ],
          origin,
          4,
        ),
      ],
    },
  };
}
