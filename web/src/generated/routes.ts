// Made from python/venturi/web/pages.py by scripts/generated.py: `make generated`.
import type { ComponentType } from "react";

type Load = () => Promise<{ default: ComponentType<{ id: string }> }>;

export const ROUTES: Record<string, Load> = {
  "/": () => import("../pages/share/start/Start"),
  "/trials": () => import("../pages/results/repository/Repository"),
  "/trials/:id": () => import("../pages/results/trial/Trial"),
  "/clusters": () => import("../pages/measure/clusters/Clusters"),
  "/cost": () => import("../pages/results/cost/Cost"),
  "/compare": () => import("../pages/results/compare/Compare"),
  "/jobs": () => import("../pages/jobs/jobs/Jobs"),
  "/effect": () => import("../pages/results/effect/Effect"),
  "/scaling": () => import("../pages/results/scaling/Scaling"),
  "/advice": () => import("../pages/machines/advice/Advice"),
  "/catalog": () => import("../pages/machines/catalog/Catalog"),
  "/exclusions": () => import("../pages/results/exclusions/Exclusions"),
  "/report": () => import("../pages/share/report/Report"),
  "/simulation": () => import("../pages/machines/simulation/Simulation"),
  "/trace": () => import("../pages/jobs/trace/Trace"),
};
