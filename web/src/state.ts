// The state of a page is its URL; besides that there is only light or dark.
import { useCallback, useMemo, useSyncExternalStore } from "react";
import { useLocation, useRouter } from "wouter";

export type Edit = (edit: (next: URLSearchParams) => void, options?: { replace?: boolean }) => void;

/** The query of the page's URL, and a way to change it. Changing it leaves the page of a list. */
export function useSearch(): [URLSearchParams, Edit] {
  // wouter's own useSearch decodes once too often: a value with a % sign would be another value.
  const router = useRouter();
  const text = router.searchHook(router) ?? "";
  const [path, navigate] = useLocation();
  const search = useMemo(() => new URLSearchParams(text), [text]);
  const edit = useCallback<Edit>(
    (change, options = {}) => {
      const next = new URLSearchParams(text);
      change(next);
      const query = next.toString();
      navigate(query ? `${path}?${query}` : path, options);
    },
    [navigate, path, text],
  );
  return [search, edit];
}

const root = document.documentElement;
const system = window.matchMedia("(prefers-color-scheme: dark)");
const heard = new Set<() => void>();
const tell = () => {
  for (const each of heard) each();
};
system.addEventListener("change", tell);

export type Theme = "light" | "dark";

const theme = (): Theme =>
  (root.dataset.theme as Theme | undefined) ?? (system.matches ? "dark" : "light");

const KEY = "venturi-theme";

/** Light or dark as the reader once chose: before anything is drawn. */
export function recallTheme(): void {
  try {
    const chosen = localStorage.getItem(KEY);
    if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;
  } catch {
    // A page without storage follows the system.
  }
}

export function useTheme(): [Theme, (next: Theme) => void] {
  const now = useSyncExternalStore((hear) => {
    heard.add(hear);
    return () => heard.delete(hear);
  }, theme);
  const choose = (next: Theme) => {
    root.dataset.theme = next;
    try {
      localStorage.setItem(KEY, next);
    } catch {
      // It is chosen for this page then.
    }
    tell();
  };
  return [now, choose];
}
