// Changes to the repository: their author, and whether the server accepted them.
import { useState } from "react";
import { askAgain, exported, problemOf, send, useTwin } from "../../data";
import type { Problem } from "../../generated/types";

/** Whether the reader may change something here. */
export function useMayWrite(): boolean {
  const { data } = useTwin(exported ? null : "/api/status");
  return !exported && data?.role === "write";
}

const KEY = "venturi-author";

/** The name of the reader's token, under which their changes are recorded. */
export function useToken(): string | null {
  const { data } = useTwin(exported ? null : "/api/status");
  return data?.token ?? null;
}

/** The reader's own name (null: their token has one), remembered here. */
export function useAuthor(): [string | null, (name: string) => void] {
  const token = useToken();
  const [author, setAuthor] = useState(() => {
    try {
      return localStorage.getItem(KEY) ?? "";
    } catch {
      return "";
    }
  });
  const put = (name: string) => {
    setAuthor(name);
    try {
      localStorage.setItem(KEY, name);
    } catch {
      // Not remembered then.
    }
  };
  return [token === null ? author : null, put];
}

export interface Change<T> {
  make(method: string, url: string, body?: unknown): Promise<void>;
  done: T | undefined;
  problem: Problem | undefined;
  sending: boolean;
}

/** Sends a change, then requests everything on the page again. */
export function useChange<T>(): Change<T> {
  const [done, setDone] = useState<T>();
  const [problem, setProblem] = useState<Problem>();
  const [sending, setSending] = useState(false);
  const make = async (method: string, url: string, body?: unknown) => {
    setSending(true);
    setProblem(undefined);
    try {
      setDone((await send<T>(method, url, body)) ?? ({} as T));
      void askAgain();
    } catch (error) {
      setProblem(problemOf(error));
    } finally {
      setSending(false);
    }
  };
  return { make, done, problem, sending };
}
