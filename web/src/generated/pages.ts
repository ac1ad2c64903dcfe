// Made from python/venturi/present/api/pages.py by scripts/generated.py: `make generated`.
import type { ComponentType } from "react";

/** A page: see `Page` of pages.py. */
export interface PageInfo {
  path: string;
  title: string;
  menu: string | null;
  selects: boolean;
  question: string;
  about: string;
  load(): Promise<{ default: ComponentType<{ id: string }> }>;
}

const page = (of: PageInfo): PageInfo => of;

export const PAGES = {
  start: page({
    path: "/",
    title: "A repository of trials",
    menu: null,
    selects: true,
    question: "",
    about: "",
    load: () => import("../pages/start/Start"),
  }),
  repository: page({
    path: "/trials",
    title: "Repository",
    menu: "Repository",
    selects: true,
    question: "Which trials are there?",
    about: "All trials, with facets, search and downloads.",
    load: () => import("../pages/repository/Repository"),
  }),
  trial: page({
    path: "/trials/:id",
    title: "Trial",
    menu: null,
    selects: true,
    question: "",
    about: "",
    load: () => import("../pages/trial/Trial"),
  }),
  cost: page({
    path: "/cost",
    title: "Cost and time",
    menu: "Cost",
    selects: true,
    question: "Which configuration is best?",
    about: "Time against cost at your prices, ranked with ties.",
    load: () => import("../pages/cost/Cost"),
  }),
  compare: page({
    path: "/compare",
    title: "Compare",
    menu: "Compare",
    selects: true,
    question: "Is the difference real?",
    about: "Distributions, the shift with its interval, a verdict.",
    load: () => import("../pages/compare/Compare"),
  }),
  speedup: page({
    path: "/speedup",
    title: "Speedup",
    menu: "Speedup",
    selects: true,
    question: "What does a factor bring?",
    about: "Disk, network, engine: against a chosen baseline.",
    load: () => import("../pages/speedup/Speedup"),
  }),
  parameter: page({
    path: "/parameter",
    title: "Parameter evaluation",
    menu: "Parameter",
    selects: true,
    question: "What does a parameter do?",
    about: "Times by its value, all other keys being equal.",
    load: () => import("../pages/parameter/Parameter"),
  }),
  scaling: page({
    path: "/scaling",
    title: "Scaling",
    menu: "Scaling",
    selects: true,
    question: "How does it scale?",
    about: "Nodes, data size, cores: points, curve, memory cliff.",
    load: () => import("../pages/scaling/Scaling"),
  }),
  improvement: page({
    path: "/improvement",
    title: "Configuration improvement",
    menu: "Improvement",
    selects: true,
    question: "What improves a configuration?",
    about: "Every change against where you are now.",
    load: () => import("../pages/improvement/Improvement"),
  }),
  advice: page({
    path: "/advice",
    title: "Hardware advice",
    menu: "Advice",
    selects: false,
    question: "Which hardware should I take?",
    about: "Predicted time and cost of cloud machines.",
    load: () => import("../pages/advice/Advice"),
  }),
  catalog: page({
    path: "/catalog",
    title: "Catalogues",
    menu: "Catalogues",
    selects: false,
    question: "",
    about: "",
    load: () => import("../pages/catalog/Catalog"),
  }),
  exclusions: page({
    path: "/exclusions",
    title: "Exclusions",
    menu: "Exclusions",
    selects: false,
    question: "",
    about: "",
    load: () => import("../pages/exclusions/Exclusions"),
  }),
  report: page({
    path: "/report",
    title: "Report",
    menu: null,
    selects: true,
    question: "",
    about: "",
    load: () => import("../pages/report/Report"),
  }),
  simulation: page({
    path: "/simulation",
    title: "Simulation",
    menu: null,
    selects: true,
    question: "",
    about: "",
    load: () => import("../pages/simulation/Simulation"),
  }),
};
