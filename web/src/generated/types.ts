// Made from schema/openapi.json by scripts/types.mjs: `npm run types`.

import type {
  AdvicePage,
  CatalogPage,
  Catalogs,
  ClusterPage,
  ComparisonData,
  Effects,
  Exclusions,
  Facets,
  Fleet,
  Groups,
  HostsOverTime,
  IoHeat,
  IoPage,
  JobData,
  JobTasks,
  Keys,
  PredictionsPage,
  RankingData,
  ReportData,
  Scaling,
  SeriesData,
  SimulationPage,
  Start,
  Status,
  TracePage,
  TrialDetail,
  TrialPage,
  TwoJobs,
  Views,
  WhatIfPage,
} from "./api";

export type * from "./api";

export interface Endpoints {
  "/api/start": Start;
  "/api/fleet": Fleet;
  "/api/status": Status;
  "/api/keys": Keys;
  "/api/trials": TrialPage;
  "/api/facets": Facets;
  "/api/trials/{id}": TrialDetail;
  "/api/trials/{id}/series": SeriesData;
  "/api/trials/{id}/hosts": HostsOverTime;
  "/api/trials/{id}/job": JobData;
  "/api/trials/{id}/tasks": JobTasks;
  "/api/trials/{id}/io": IoPage;
  "/api/trials/{id}/io/heat": IoHeat;
  "/api/clusters": ClusterPage;
  "/api/groups": Groups;
  "/api/cost": RankingData;
  "/api/compare": ComparisonData;
  "/api/jobs": TwoJobs;
  "/api/whatif": WhatIfPage;
  "/api/effect": Effects;
  "/api/predictions": PredictionsPage;
  "/api/scaling": Scaling;
  "/api/catalogs": Catalogs;
  "/api/catalog": CatalogPage;
  "/api/advice": AdvicePage;
  "/api/predict": AdvicePage;
  "/api/exclusions": Exclusions;
  "/api/views": Views;
  "/api/report": ReportData;
  "/api/simulation": SimulationPage;
  "/api/trace": TracePage;
}
