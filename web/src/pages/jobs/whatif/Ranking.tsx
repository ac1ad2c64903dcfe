// All machine types of a catalog ranked for the job: the best ones, and the frontier of time and cost.
import { useCallback } from "react";
import { Link } from "wouter";
import { exported } from "../../../data";
import { capital, count, dollars, duration, fullStop } from "../../../format";
import { PAGES } from "../../../generated/pages";
import type { RankedOption, WhatIfPrediction, WhatIfRanking } from "../../../generated/types";
import type { View } from "../../../parts/Chart";
import { Figure } from "../../../parts/Figure";
import { Notices } from "../../../parts/Page";
import { type Cell, DataTable, number } from "../../../parts/Table";
import { useSearch } from "../../../state";
import { bounds, limitOf } from "./Answer";
import { MODEL } from "./charts";
import { frontierChart, OTHER, RECOMMENDED, TIED } from "./frontier";

/** The machines of an option, as a link to the whole answer about them. */
function useOption() {
  const [search] = useSearch();
  return (name: string): Cell => {
    const asked = new URLSearchParams(search);
    asked.delete("objective");
    asked.delete("deadline");
    asked.set("on", name.replace(" × ", ":"));
    const show = exported ? name : <Link href={`${PAGES.whatif.path}?${asked}`}>{name}</Link>;
    return { value: name, show };
  };
}

function Best({ data }: { data: WhatIfRanking }) {
  const { ranking } = data;
  const option = useOption();
  const { recommended } = ranking;
  const row = (found: WhatIfPrediction, name: Cell, why: string): Cell[] => [
    name,
    why,
    found.hosts,
    found.slots,
    bounds(found.time_s, duration),
    bounds(found.usd, dollars),
    limitOf(data, Object.keys(found.limits)[0] ?? ""),
  ];
  const shown = ranking.best.some(({ name }) => name === recommended.name)
    ? ranking.best
    : [recommended, ...ranking.best];
  const left = [
    [ranking.too_small, "too small for an executor"],
    [ranking.unpriced, "without a price"],
    [ranking.late, "too slow"],
  ] as const;
  const lefts = left.filter(([n]) => n > 0).map(([n, why]) => `${count(n)} ${why}`);
  return (
    <>
      <DataTable
        caption="The best machine types"
        columns={[
          { name: "Setup" },
          { name: "Standing" },
          number("Machines"),
          number("Slots"),
          number("Time"),
          number("Cost"),
          { name: "Limited by" },
        ]}
        rows={[
          row(data.today.prediction, "today", ""),
          ...shown.map((each) =>
            row(
              each,
              option(each.name),
              each.name === recommended.name
                ? "recommended"
                : each.name === ranking.best[0]?.name
                  ? "best"
                  : "",
            ),
          ),
        ]}
      />
      <p className="aside">
        Ranges are 90 % intervals. {count(ranking.tried)} types of the catalog {data.catalog} were
        tried with 1 to 64 machines{lefts.length > 0 && `; left out: ${lefts.join(", ")}`}.
      </p>
    </>
  );
}

function Frontier({ data }: { data: WhatIfRanking }) {
  const { ranking } = data;
  const option = useOption();
  const draw = useCallback((view: View) => frontierChart(ranking, view), [ranking]);
  const row = (found: RankedOption, on: string): Cell[] => [
    option(found.name),
    on,
    found.hosts,
    found.slots,
    bounds(found.time_s, duration),
    bounds(found.usd, dollars),
  ];
  return (
    <Figure
      title="Time against cost of all types"
      caption="Options on the frontier are beaten by no other in both time and cost. Other types are drawn with their best number of machines. Times are estimates in proportion to the best option's."
      draw={draw}
      nothing="No option has a price."
      file={`whatif-types-${data.trial}`}
      legend={[
        [RECOMMENDED, "recommended, with its 90 % interval"],
        [MODEL, "frontier"],
        [TIED, "statistically tied with the best"],
        [OTHER, "other types"],
      ]}
      table={{
        columns: [
          { name: "Setup" },
          { name: "Standing" },
          number("Machines"),
          number("Slots"),
          number("Time"),
          number("Cost"),
        ],
        rows: [
          ...ranking.frontier.map((each) => row(each, "frontier")),
          ...ranking.options.map((each) => row(each, each.tied ? "tied" : "")),
        ],
      }}
    />
  );
}

export function Ranking({ data }: { data: WhatIfRanking }) {
  return (
    <>
      <section aria-labelledby="answer">
        <h2 id="answer" className="visually-hidden">
          The answer
        </h2>
        {data.margin && <p>{fullStop(data.margin)}</p>}
        <Notices texts={data.not_modeled.map((name) => `Not modeled: ${name}.`)} />
        <Best data={data} />
      </section>
      <section aria-labelledby="frontier">
        <h2 id="frontier">The frontier</h2>
        <Frontier data={data} />
      </section>
      <section aria-labelledby="rests">
        <h2 id="rests">What the answer rests on</h2>
        <ul className="dots">
          {data.rests_on.map((text) => (
            <li key={text}>{fullStop(capital(text))}</li>
          ))}
        </ul>
      </section>
    </>
  );
}
