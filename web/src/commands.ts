// The command that answers the question of a page in a terminal, for every page that has one.
import { PAGES } from "./generated/pages";
import { isGroup } from "./url";

/** A word of a command as a shell takes it. */
export const quoted = (text: string) =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** The names of a page's parameters in a terminal: each value of PARAM is given with OPTION. */
type Options = Readonly<Record<string, string>>;

/** The words of a command, and the parameters that its options take. */
interface Command {
  words: readonly string[];
  options?: Options;
  /** Parameters that are options without a value. */
  flags?: Options;
}

const isOn = (search: URLSearchParams, name: string) =>
  /^(1|true|on|yes)$/i.test(search.get(name) ?? "");

/** The options of `venturi whatif` by the names of the parameters. */
const WHATIF = {
  on: "--on",
  from: "--from",
  executors: "--executors",
  cores_per_executor: "--cores-per-executor",
  disk: "--disk",
  network: "--network",
  data: "--data",
  set: "--set",
  usd_per_node_hour: "--usd-per-node-hour",
} as const;

/** Whether a what-if question changes anything: the verb refuses one that doesn't. */
const changes = (search: URLSearchParams): boolean =>
  Object.keys(WHATIF).some((name) => name !== "from" && search.has(name));

const WHERE = { where: "--where" };
/** The keys that may differ between matched trials, and those that count although unique. */
const MATCHING = { ignore: "--ignore", keep: "--keep" };
const EXCLUDED = { excluded: "--with-excluded" };

/** `venturi ls` pages by its limit only, so that the page after a first one has no command. */
function ls(search: URLSearchParams): Command | undefined {
  if (search.has("cursor")) return undefined;
  const ordered = search.has("sort") || search.has("desc");
  const up = search.has("desc") && !isOn(search, "desc");
  const sort = `${up ? "" : "-"}${search.get("sort") ?? "started_at"}`;
  return {
    words: ["ls", ...(ordered ? [`--sort=${sort}`] : [])],
    options: { ...WHERE, limit: "--limit" },
    flags: EXCLUDED,
  };
}

function rank(search: URLSearchParams): Command | undefined {
  if (!search.has("by")) return undefined;
  return {
    words: ["rank"],
    options: {
      by: "--by",
      objective: "--objective",
      usd_per_hour: search.get("per") === "node" ? "--usd-per-node-hour" : "--usd-per-hour",
      plus: "--plus",
      prices: "--prices",
      ...MATCHING,
      ...WHERE,
    },
    flags: { ...EXCLUDED, crude: "--crude" },
  };
}

/** `venturi compare` takes repeat groups: groups by other keys, or unmatched ones, have none. */
function compare(search: URLSearchParams): Command | undefined {
  const by = search.getAll("by");
  const at = by.indexOf("group");
  if (at < 0 || isOn(search, "excluded") || isOn(search, "crude")) return undefined;
  const groups = search
    .getAll("group")
    .filter((text) => isGroup(text, by))
    .map((text) => String(JSON.parse(text)[at]));
  if (groups.length < 2) return undefined;
  const others = search.getAll("where").filter((text) => !text.startsWith("group="));
  return { words: ["compare", ...groups, ...others.flatMap((text) => ["--where", text])] };
}

function effect(search: URLSearchParams): Command | undefined {
  if (!search.has("key")) return undefined;
  return {
    words: ["effect", ...search.getAll("key")],
    options: { baseline: "--baseline", level: "--level", ...MATCHING, ...WHERE },
    flags: { ...EXCLUDED, crude: "--crude" },
  };
}

function whatif(search: URLSearchParams): Command | undefined {
  const trial = search.get("trial");
  const options = { ...WHATIF, spot: "--spot", objective: "--objective", deadline: "--deadline" };
  return trial && changes(search) ? { words: ["whatif", trial], options } : undefined;
}

function twoJobs(search: URLSearchParams): Command | undefined {
  const [before, after] = [search.get("before"), search.get("after")];
  return before && after ? { words: ["compare", "--why", before, after] } : undefined;
}

const COMMANDS: Readonly<Record<string, (search: URLSearchParams) => Command | undefined>> = {
  [PAGES.start.path]: () => ({
    words: ["jobs"],
    options: WHERE,
    flags: { each: "--each", ...EXCLUDED },
  }),
  [PAGES.repository.path]: ls,
  [PAGES.cost.path]: rank,
  [PAGES.compare.path]: compare,
  [PAGES.effect.path]: effect,
  [PAGES.scaling.path]: (search) => ({
    words: ["scaling", search.get("x") ?? "hosts"],
    options: {
      by: "--by",
      leave_out: "--ignore",
      skip: "--skip",
      to: "--to",
      ...MATCHING,
      ...WHERE,
    },
    flags: EXCLUDED,
  }),
  [PAGES.whatif.path]: whatif,
  [PAGES.jobs.path]: twoJobs,
  [PAGES.predictions.path]: (search) =>
    search.size === 0 ? { words: ["predict", "--errors"] } : undefined,
};

/** The command of the page at `path`: `venturi rank --by net --where workload=terasort`. */
export function commandOf(path: string, search: URLSearchParams): string | undefined {
  const command = COMMANDS[path]?.(search);
  if (!command) return undefined;
  const { words, options = {}, flags = {} } = command;
  const given = Object.entries(options).flatMap(([name, option]) =>
    search.getAll(name).flatMap((value) => [option, value]),
  );
  const set = Object.entries(flags)
    .filter(([name]) => isOn(search, name))
    .map(([, option]) => option);
  return ["venturi", ...words, ...given, ...set].map(quoted).join(" ");
}
