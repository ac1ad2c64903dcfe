// Made from python/venturi/web/pages.py by scripts/generated.py: `make generated`.
import type { ComponentType } from "react";

type Load = () => Promise<{ default: ComponentType<{ id: string }> }>;

export const ROUTES: Record<string, Load> = {
  "/": () => import("../pages/start/Start"),
  "/trials": () => import("../pages/repository/Repository"),
  "/trials/:id": () => import("../pages/trial/Trial"),
  "/clusters": () => import("../pages/clusters/Clusters"),
  "/cost": () => import("../pages/cost/Cost"),
  "/compare": () => import("../pages/compare/Compare"),
  "/jobs": () => import("../pages/jobs/Jobs"),
  "/effect": () => import("../pages/effect/Effect"),
  "/scaling": () => import("../pages/scaling/Scaling"),
  "/advice": () => import("../pages/advice/Advice"),
  "/catalog": () => import("../pages/catalog/Catalog"),
  "/exclusions": () => import("../pages/exclusions/Exclusions"),
  "/report": () => import("../pages/report/Report"),
  "/simulation": () => import("../pages/simulation/Simulation"),
  "/trace": () => import("../pages/trace/Trace"),
};
