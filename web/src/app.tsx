// Header and routes; every page is loaded when it is opened first.
import { QueryClientProvider } from "@tanstack/react-query";
import { lazy, Suspense, useEffect, useState } from "react";
import { Link, Route, Switch, useLocation } from "wouter";
import { client, exported, loaded, useTwin } from "./data";
import { moment } from "./format";
import { PAGES } from "./generated/pages";
import { ROUTES } from "./generated/routes";
import { Boundary } from "./parts/Boundary";
import { Navigation } from "./parts/navigation/Navigation";
import { Page, Pending } from "./parts/Page";
import { Login } from "./parts/server/Login";
import { ServerGone } from "./parts/server/ServerGone";
import { useTheme } from "./state";

/** Pages that only a command writes, with their data. */
const IN_FILES: ReadonlySet<string> = new Set(
  Object.values(PAGES).flatMap(({ path, served }) => (served ? [] : [path])),
);

/** The component of each page is loaded when it is opened first. */
const SHOWN = Object.entries(ROUTES)
  .filter(([path]) => exported || !IN_FILES.has(path))
  .map(([path, load]) => ({ path, Shown: lazy(() => loaded(load)) }));

/** When an exported file was written, where its page does not say so itself. */
const WRITTEN = document.getElementById("app")?.dataset.written ?? "";

function Brand() {
  const mark = (
    <>
      <svg className="mark" viewBox="0 0 40 16" aria-hidden="true">
        <path d="M0 1C12 1 12 6 20 6S28 1 40 1M0 15c12 0 12-5 20-5s8 5 20 5" />
      </svg>
      Venturi
    </>
  );
  return exported ? (
    <p className="brand">{mark}</p>
  ) : (
    <Link className="brand" href={PAGES.start.path}>
      {mark}
    </Link>
  );
}

function Header({ open }: { open: boolean }) {
  const [theme, choose] = useTheme();
  return (
    <header className="top">
      <div className="bar">
        <Brand />
        <button
          type="button"
          id="theme"
          aria-label="Switch between light and dark"
          onClick={() => choose(theme === "dark" ? "light" : "dark")}
        >
          {theme === "dark" ? "Light" : "Dark"}
        </button>
      </div>
      {open && !exported && <Navigation />}
    </header>
  );
}

function Pages() {
  return (
    <Suspense fallback={<Pending what="page" lines={20} />}>
      <Switch>
        {SHOWN.map(({ path, Shown }) => (
          <Route<{ id?: string }> key={path} path={path}>
            {({ id = "" }) => <Shown key={id} id={id} />}
          </Route>
        ))}
        <Route>
          <Page
            title="No such page"
            intro="Nothing is at this address. Choose a page from the menu above."
          />
        </Route>
      </Switch>
    </Suspense>
  );
}

function Shell() {
  const [path] = useLocation();
  const { data, problem, pending } = useTwin(exported ? null : "/api/status");
  const [locked, lock] = useState(false);
  // While the server is asked again its refusal is forgotten: the login stays until it answers.
  if (!pending && locked !== (problem?.status === 401)) lock(!locked);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a page that was kept asks nothing else
  useEffect(() => {
    if (!exported) void client.invalidateQueries({ queryKey: ["/api/status"] });
  }, [path]);
  return (
    <>
      <a className="skip" href="#main">
        Skip to the content
      </a>
      <Header open={!locked} />
      {!exported && <ServerGone />}
      <main id="main" tabIndex={-1}>
        {locked ? (
          <Login />
        ) : (
          <Boundary key={path}>
            <Pages />
          </Boundary>
        )}
      </main>
      <footer>
        <p>
          {exported
            ? `Exported by Venturi${WRITTEN && `, ${moment(WRITTEN)}`}. This file contains its data and needs no server.`
            : `Venturi ${data?.version ?? ""}`}
        </p>
      </footer>
    </>
  );
}

/** All pages. An exported file puts its own <Router> around it. */
export function App() {
  return (
    <QueryClientProvider client={client}>
      <Shell />
    </QueryClientProvider>
  );
}
