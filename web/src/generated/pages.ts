// Made from python/venturi/present/api/pages.py by scripts/generated.py: `make generated`.
export const PAGES = {
  "start": {
    "path": "/",
    "title": "A repository of trials",
    "menu": null,
    "selects": true,
    "question": "",
    "about": "",
    "served": true
  },
  "repository": {
    "path": "/trials",
    "title": "Repository",
    "menu": "Repository",
    "selects": true,
    "question": "Which trials are there?",
    "about": "All trials, with facets, search and downloads.",
    "served": true
  },
  "trial": {
    "path": "/trials/{id}",
    "title": "Trial",
    "menu": null,
    "selects": true,
    "question": "",
    "about": "",
    "served": true
  },
  "cost": {
    "path": "/cost",
    "title": "Cost and time",
    "menu": "Cost",
    "selects": true,
    "question": "Which configuration is best?",
    "about": "Time against cost at your prices, ranked with ties.",
    "served": true
  },
  "compare": {
    "path": "/compare",
    "title": "Compare",
    "menu": "Compare",
    "selects": true,
    "question": "Is the difference real?",
    "about": "Distributions, the ratio with its interval, a verdict.",
    "served": true
  },
  "speedup": {
    "path": "/speedup",
    "title": "Speedup",
    "menu": "Speedup",
    "selects": true,
    "question": "What does a factor bring?",
    "about": "Disk, network, engine: against a chosen baseline.",
    "served": true
  },
  "parameter": {
    "path": "/parameter",
    "title": "Parameter evaluation",
    "menu": "Parameter",
    "selects": true,
    "question": "What does a parameter do?",
    "about": "Times by its value, all other keys being equal.",
    "served": true
  },
  "scaling": {
    "path": "/scaling",
    "title": "Scaling",
    "menu": "Scaling",
    "selects": true,
    "question": "How does it scale?",
    "about": "Nodes, data size, cores: points, curve, memory cliff.",
    "served": true
  },
  "improvement": {
    "path": "/improvement",
    "title": "Configuration improvement",
    "menu": "Improvement",
    "selects": true,
    "question": "What improves a configuration?",
    "about": "Every change against where you are now.",
    "served": true
  },
  "advice": {
    "path": "/advice",
    "title": "Hardware advice",
    "menu": "Advice",
    "selects": false,
    "question": "Which hardware should I take?",
    "about": "Predicted time and cost of cloud machines.",
    "served": true
  },
  "catalog": {
    "path": "/catalog",
    "title": "Catalogues",
    "menu": "Catalogues",
    "selects": false,
    "question": "",
    "about": "",
    "served": true
  },
  "exclusions": {
    "path": "/exclusions",
    "title": "Exclusions",
    "menu": "Exclusions",
    "selects": false,
    "question": "",
    "about": "",
    "served": true
  },
  "report": {
    "path": "/report",
    "title": "Report",
    "menu": null,
    "selects": true,
    "question": "",
    "about": "",
    "served": false
  },
  "simulation": {
    "path": "/simulation",
    "title": "Simulation",
    "menu": null,
    "selects": true,
    "question": "",
    "about": "",
    "served": false
  }
};
