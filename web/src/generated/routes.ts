// Made from python/venturi/present/api/pages.py by scripts/generated.py: `make generated`.
import type { ComponentType } from "react";

type Load = () => Promise<{ default: ComponentType<{ id: string }> }>;

export const ROUTES: Record<string, Load> = {
  "/": () => import("../pages/start/Start"),
  "/trials": () => import("../pages/repository/Repository"),
  "/trials/:id": () => import("../pages/trial/Trial"),
  "/cost": () => import("../pages/cost/Cost"),
  "/compare": () => import("../pages/compare/Compare"),
  "/speedup": () => import("../pages/speedup/Speedup"),
  "/parameter": () => import("../pages/parameter/Parameter"),
  "/scaling": () => import("../pages/scaling/Scaling"),
  "/improvement": () => import("../pages/improvement/Improvement"),
  "/advice": () => import("../pages/advice/Advice"),
  "/catalog": () => import("../pages/catalog/Catalog"),
  "/exclusions": () => import("../pages/exclusions/Exclusions"),
  "/report": () => import("../pages/report/Report"),
  "/simulation": () => import("../pages/simulation/Simulation"),
};
