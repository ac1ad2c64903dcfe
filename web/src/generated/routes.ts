// Made from web/src/pages by scripts/generated.py: `make generated`.
import type { ComponentType } from "react";

type Load = () => Promise<{ default: ComponentType<{ id: string }> }>;

export const ROUTES: Record<string, Load> = {
  "/clusters": () => import("../pages/measure/clusters/Clusters"),
  "/trials": () => import("../pages/results/repository/Repository"),
  "/trials/:id": () => import("../pages/results/trial/Trial"),
  "/cost": () => import("../pages/results/cost/Cost"),
  "/compare": () => import("../pages/results/compare/Compare"),
  "/effect": () => import("../pages/results/effect/Effect"),
  "/scaling": () => import("../pages/results/scaling/Scaling"),
  "/exclusions": () => import("../pages/results/exclusions/Exclusions"),
  "/predictions": () => import("../pages/results/predictions/Predictions"),
  "/jobs": () => import("../pages/jobs/jobs/Jobs"),
  "/trace": () => import("../pages/jobs/trace/Trace"),
  "/whatif": () => import("../pages/jobs/whatif/Whatif"),
  "/advice": () => import("../pages/machines/advice/Advice"),
  "/catalog": () => import("../pages/machines/catalog/Catalog"),
  "/simulation": () => import("../pages/machines/simulation/Simulation"),
  "/": () => import("../pages/share/start/Start"),
  "/report": () => import("../pages/share/report/Report"),
};
