// Header, navigation and the routes; every page is loaded when it is opened first.
import { QueryClientProvider } from "@tanstack/react-query";
import { type ComponentType, lazy, Suspense } from "react";
import { Link, Route, Switch, useLocation } from "wouter";
import { client, exported, useTwin } from "./data";
import { moment } from "./format";
import type { Status } from "./generated/types";
import { Boundary } from "./parts/Boundary";
import { Login } from "./parts/Login";
import { Page, Pending } from "./parts/Page";
import { href, selectionOf, useSearch, useTheme } from "./state";

const Start = lazy(() => import("./pages/start/Start"));
const Repository = lazy(() => import("./pages/repository/Repository"));
const Trial = lazy(() => import("./pages/trial/Trial"));
const Exclusions = lazy(() => import("./pages/exclusions/Exclusions"));

/** A page of the navigation; one that `selects` takes the conditions of the page before along. */
interface Entry {
  path: string;
  name: string;
  page: ComponentType;
  selects: boolean;
}

const entry = (path: string, name: string, page: ComponentType, selects = true): Entry => ({
  path,
  name,
  page,
  selects,
});

const NAVIGATION: readonly Entry[] = [
  entry("/trials", "Repository", Repository),
  entry(
    "/cost",
    "Cost",
    lazy(() => import("./pages/cost/Cost")),
  ),
  entry(
    "/compare",
    "Compare",
    lazy(() => import("./pages/compare/Compare")),
  ),
  entry(
    "/speedup",
    "Speedup",
    lazy(() => import("./pages/speedup/Speedup")),
  ),
  entry(
    "/parameter",
    "Parameter",
    lazy(() => import("./pages/parameter/Parameter")),
  ),
  entry(
    "/scaling",
    "Scaling",
    lazy(() => import("./pages/scaling/Scaling")),
  ),
  entry(
    "/improvement",
    "Improvement",
    lazy(() => import("./pages/improvement/Improvement")),
  ),
  entry(
    "/advice",
    "Advice",
    lazy(() => import("./pages/advice/Advice")),
    false,
  ),
  entry(
    "/catalog",
    "Catalogues",
    lazy(() => import("./pages/catalog/Catalog")),
    false,
  ),
  entry("/exclusions", "Exclusions", Exclusions, false),
];
/** When an exported file was written, where its page does not say so itself. */
const WRITTEN = document.getElementById("app")?.dataset.written ?? "";

const Report = lazy(() => import("./pages/report/Report"));
const Simulation = lazy(() => import("./pages/simulation/Simulation"));

function Navigation() {
  const [path] = useLocation();
  const [search] = useSearch();
  const selection = selectionOf(search);
  return (
    <nav aria-label="Pages">
      <ul>
        {NAVIGATION.map(({ path: to, name, selects }) => (
          <li key={to}>
            <Link
              href={selects ? href(to, selection) : to}
              aria-current={path === to || path.startsWith(`${to}/`) ? "page" : undefined}
            >
              {name}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}

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
    <Link className="brand" href="/">
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
        <Route path="/">
          <Start />
        </Route>
        <Route path="/trials/:id">{({ id }) => <Trial key={id} id={id} />}</Route>
        {NAVIGATION.map(({ path, page: Shown }) => (
          <Route key={path} path={path}>
            <Shown />
          </Route>
        ))}
        <Route path="/report">
          <Report />
        </Route>
        <Route path="/simulation">
          <Simulation />
        </Route>
        <Route>
          <Page
            title="No such page"
            intro="The address leads nowhere. The pages are named above."
          />
        </Route>
      </Switch>
    </Suspense>
  );
}

function Shell() {
  const [path] = useLocation();
  const { data, problem } = useTwin<Status>(exported ? "" : "/api/status");
  const locked = problem?.status === 401;
  return (
    <>
      <a className="skip" href="#main">
        Skip to the content
      </a>
      <Header open={!locked} />
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
            ? `Exported by Venturi${WRITTEN && `, ${moment(WRITTEN)}`}: this file carries its data and asks no server.`
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
