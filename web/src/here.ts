// Rewrites sentences that name options of a terminal, for readers of a page.

const SPOKEN: readonly (readonly [RegExp, string])[] = [
  [/add --where ([^ =]+)=VALUE/g, "filter by $1"],
  [/add --where ([^ .;,]+)/g, "keep only $1"],
  [/choose one with --where ([^ .;,]+)/g, "keep only $1"],
  [/leave them out with --where ([^ =]+)=(?=[ .;,]|$)/g, "keep only trials without $1"],
  [/\. --usd-per-node-hour prices every node/g, ". Give the price for each node"],
  [/--usd-per-node-hour prices every node/g, "give the price for each node"],
  [/leave these out with --prices recorded/g, "keep only trials with a recorded price"],
  [/--usd-per-node-hour USD, or --usd-per-hour USD for/g, "of each node, or of"],
  [/price them with --plus cluster=NAME:USD/g, "group by cluster and add a price for each of them"],
  [/would keep --deadline (\S+)/g, "would keep a deadline of $1"],
  [/would keep --budget (\S+)/g, "would keep a budget of US$ $1"],
  [/; add --startup 0s if it runs already/g, ""],
  [/\(--nodes (\d+)\)/g, "(Nodes: $1)"],
  [/\(--max-nodes [^ =]+=(\d+)\)/g, "(Available nodes: $1)"],
  [/give what is missing with --assume or --measured/g, "give a rate for unknown ones"],
  [/--assume (\S+)/g, "“$1” as the rate if unknown"],
  [/, or measured ones with --measured/g, ", or add measured ones to the catalog"],
  [/in a catalog(?:ue)? (?:with|of) --measured/g, "in your own catalog"],
  [/(?:add|leave out) --with-excluded/g, "include excluded trials"],
  [/add --from TYPE/g, "enter today's machine type"],
  [/: --cores-per-executor (\d+) --set (\S+)/g, ", with $1 cores and $2"],
];

/** `text` for readers of a page; commands in backticks stay as they are. */
export const onPage = (text: string): string =>
  text
    .split(/(`[^`]*`)/)
    .map((part, at) =>
      at % 2 ? part : SPOKEN.reduce((told, [typed, here]) => told.replace(typed, here), part),
    )
    .join("");
