// What a page asks the API for. A page at /PATH?QUERY has its data at /api/PATH?QUERY; a page that
// was exported contains the answers and needs no server.
import { keepPreviousData, QueryCache, QueryClient, useQuery } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import type { Endpoints, Problem } from "./generated/types";
import { canonical } from "./url";

const FRESH_MS = 30_000;

function island(): Map<string, unknown> | null {
  const text = document.getElementById("twins")?.textContent;
  if (!text) return null;
  const answers = Object.entries(JSON.parse(text) as Record<string, unknown>);
  return new Map(
    answers.map(([url, answer]) => {
      const { pathname, searchParams } = new URL(url, "http://localhost");
      return [canonical(pathname, searchParams), answer];
    }),
  );
}

const carried = island();

/** Whether this page is an exported file: nothing can be asked, saved or left out in it. */
export const exported = carried !== null;

/** A refusal of the API, or the reason why it can't be reached. */
export class Refused extends Error {
  constructor(readonly problem: Problem) {
    super(problem.detail);
  }
}

const problem = (code: string, title: string, detail: string, status = 0): Problem => ({
  type: "about:blank",
  title,
  status,
  detail,
  code,
  where: {},
  hint: "",
});

export const problemOf = (error: unknown): Problem =>
  error instanceof Refused
    ? error.problem
    : problem("VEN-WEB-BUG", "This page failed", error instanceof Error ? error.message : "");

/** Since when the server does not answer, in ms of the epoch; null while it does. */
let goneSince: number | null = null;
const heard = new Set<() => void>();

function reached(answers: boolean): void {
  const before = goneSince;
  goneSince = answers ? null : (before ?? Date.now());
  if (goneSince !== before) for (const each of heard) each();
}

/** Since when the server does not answer, in ms of the epoch; null while it does. */
export const useGoneSince = () =>
  useSyncExternalStore(
    (hear) => {
      heard.add(hear);
      return () => heard.delete(hear);
    },
    () => goneSince,
  );

const UNREACHABLE = "VEN-WEB-UNREACHABLE";

/** That the server cannot be asked, whatever was asked of it. */
function unreachable(): Refused {
  reached(false);
  return new Refused({
    ...problem(UNREACHABLE, "The server doesn't answer", "It has stopped, or can't be reached."),
    hint: "Start it with “venturi serve”, then try again.",
  });
}

/** Loads a page's own code. Without the server that fails like any other question to it. */
export async function loaded<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    if (exported) throw error;
    // An answering server that lacks this code is a different version.
    await send("GET", "/api/status");
    throw new Refused({
      ...problem("VEN-WEB-VERSION", "This page can't be loaded", "The server was upgraded."),
      hint: "Reload the page.",
    });
  }
}

/** Sends `body` as JSON (a Blob as it is) and gives the JSON that comes back. */
export async function send<T>(method: string, url: string, body?: unknown): Promise<T> {
  const blob = body instanceof Blob;
  const headers: Record<string, string> = { Accept: "application/json" };
  if (body !== undefined) headers["Content-Type"] = blob ? body.type : "application/json";
  let response: Response;
  try {
    response = await fetch(url, {
      method,
      headers,
      credentials: "same-origin",
      body: body === undefined ? null : blob ? body : JSON.stringify(body),
    });
  } catch {
    throw unreachable();
  }
  reached(true);
  if (response.ok) return (response.status === 204 ? undefined : await response.json()) as T;
  const kind = response.headers.get("Content-Type") ?? "";
  if (kind.startsWith("application/problem+json"))
    throw new Refused((await response.json()) as Problem);
  throw new Refused(
    problem(
      "VEN-WEB-ANSWER",
      "Refused",
      `The server answered ${response.status}.`,
      response.status,
    ),
  );
}

/** Asks again everything that is on the page. */
export const askAgain = () => client.invalidateQueries();

/** Asks again what was asked at `path`, with any query. */
export const askAgainAt = (path: keyof Endpoints) =>
  client.invalidateQueries({
    predicate: ({ queryKey: [url] }) => String(url).split("?")[0] === path,
  });

export const client: QueryClient = new QueryClient({
  queryCache: new QueryCache({
    onError: (error, query) => {
      // A session that has ended shows the door, whichever request was the first to notice.
      const status = query.queryKey[0] === "/api/status";
      if (error instanceof Refused && error.problem.status === 401 && !status)
        void client.invalidateQueries({ queryKey: ["/api/status"] });
    },
  }),
  defaultOptions: {
    queries: { retry: false, staleTime: FRESH_MS, refetchOnWindowFocus: false },
  },
});

export interface Twin<T> {
  data: T | undefined;
  problem: Problem | undefined;
  /** Nothing to show yet. */
  pending: boolean;
  /** Whether the data answer the previous question. */
  stale: boolean;
}

/** The answer of the API at `path` to `search`, of the trial `id`. Null asks nothing. */
export function useTwin<Path extends keyof Endpoints>(
  path: Path | null,
  search?: URLSearchParams,
  id = "",
): Twin<Endpoints[Path]> {
  type T = Endpoints[Path];
  const url = path ? canonical(path.replace("{id}", encodeURIComponent(id)), search) : "";
  const asked = useQuery<T>({
    queryKey: [url],
    queryFn: async () => {
      if (!carried) return send<T>("GET", url);
      if (carried.has(url)) return carried.get(url) as T;
      const detail = "This file contains only the data of the exported page.";
      throw new Refused(problem("VEN-WEB-EXPORTED", "Not in this file", detail));
    },
    ...(carried?.has(url) ? { initialData: carried.get(url) as T } : {}),
    placeholderData: keepPreviousData,
    enabled: url !== "",
  });
  const refusal = asked.isError ? problemOf(asked.error) : undefined;
  // Earlier answers stay, under the sign that the server doesn't answer now.
  const kept = refusal?.code === UNREACHABLE && asked.data !== undefined;
  return {
    data: asked.isError && !kept ? undefined : asked.data,
    problem: kept ? undefined : refusal,
    pending: asked.isPending && url !== "",
    stale: asked.isPlaceholderData,
  };
}
