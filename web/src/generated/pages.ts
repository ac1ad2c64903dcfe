// Made from python/venturi/web/pages.py by scripts/generated.py: `make generated`.
export const PAGES = {
  "start": {
    "topic": "share",
    "path": "/",
    "title": "A repository of trials",
    "menu": null,
    "selects": true,
    "question": "",
    "about": "",
    "served": true
  },
  "repository": {
    "topic": "results",
    "path": "/trials",
    "title": "Repository",
    "menu": "Repository",
    "selects": true,
    "question": "Which trials are there?",
    "about": "All trials, with facets, search and downloads.",
    "served": true
  },
  "trial": {
    "topic": "results",
    "path": "/trials/{id}",
    "title": "Trial",
    "menu": null,
    "selects": true,
    "question": "",
    "about": "",
    "served": true
  },
  "clusters": {
    "topic": "measure",
    "path": "/clusters",
    "title": "Clusters",
    "menu": "Clusters",
    "selects": false,
    "question": "Which hosts is my cluster made of?",
    "about": "Hosts, links, disks, what differs, its probes and trials.",
    "served": true
  },
  "cost": {
    "topic": "results",
    "path": "/cost",
    "title": "Cost and time",
    "menu": "Cost",
    "selects": true,
    "question": "Which configuration is best?",
    "about": "Time against cost at your prices, ranked with ties.",
    "served": true
  },
  "compare": {
    "topic": "results",
    "path": "/compare",
    "title": "Compare",
    "menu": "Compare",
    "selects": true,
    "question": "Is the difference real?",
    "about": "Distributions, the ratio with its interval, a verdict.",
    "served": true
  },
  "jobs": {
    "topic": "jobs",
    "path": "/jobs",
    "title": "Two jobs",
    "menu": null,
    "selects": false,
    "question": "Why was it slower today?",
    "about": "Two jobs of Spark or MapReduce: time, settings, plans, data.",
    "served": true
  },
  "effect": {
    "topic": "results",
    "path": "/effect",
    "title": "Effects",
    "menu": "Effects",
    "selects": true,
    "question": "What does a setting bring?",
    "about": "Disk, network, maps, compression: all else being equal.",
    "served": true
  },
  "scaling": {
    "topic": "results",
    "path": "/scaling",
    "title": "Scaling",
    "menu": "Scaling",
    "selects": true,
    "question": "How does it scale?",
    "about": "Nodes, data size, cores: points, curve, memory cliff.",
    "served": true
  },
  "advice": {
    "topic": "machines",
    "path": "/advice",
    "title": "Hardware advice",
    "menu": "Advice",
    "selects": false,
    "question": "Which hardware should I take?",
    "about": "Predicted time and cost of cloud machines.",
    "served": true
  },
  "catalog": {
    "topic": "machines",
    "path": "/catalog",
    "title": "Catalogues",
    "menu": "Catalogues",
    "selects": false,
    "question": "",
    "about": "",
    "served": true
  },
  "exclusions": {
    "topic": "results",
    "path": "/exclusions",
    "title": "Exclusions",
    "menu": "Exclusions",
    "selects": false,
    "question": "",
    "about": "",
    "served": true
  },
  "report": {
    "topic": "share",
    "path": "/report",
    "title": "Report",
    "menu": null,
    "selects": true,
    "question": "",
    "about": "",
    "served": false
  },
  "simulation": {
    "topic": "machines",
    "path": "/simulation",
    "title": "Simulation",
    "menu": null,
    "selects": true,
    "question": "",
    "about": "",
    "served": false
  },
  "trace": {
    "topic": "jobs",
    "path": "/trace",
    "title": "Trace",
    "menu": null,
    "selects": true,
    "question": "",
    "about": "",
    "served": false
  }
};
