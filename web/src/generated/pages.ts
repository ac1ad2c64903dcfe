// Made from web/src/pages by scripts/generated.py: `make generated`.
export const TOPICS = {
  "measure": {
    "name": "Measure",
    "question": "What can these machines do? How long does this workload take?"
  },
  "results": {
    "name": "Results",
    "question": "Which is better, by how much, and is it real?"
  },
  "jobs": {
    "name": "Jobs",
    "question": "Why is this job slow, what do I change, what would it take elsewhere?"
  },
  "machines": {
    "name": "Machines",
    "question": "Which machines, how many, and how much do they cost?"
  },
  "share": {
    "name": "Share",
    "question": "How do others see it?"
  }
};

export const PAGES = {
  "clusters": {
    "topic": "measure",
    "path": "/clusters",
    "title": "Clusters",
    "menu": "Clusters",
    "selects": false,
    "question": "Which hosts does my cluster have?",
    "about": "Hosts, links and disks, the odd one out, probes and trials.",
    "served": true
  },
  "repository": {
    "topic": "results",
    "path": "/trials",
    "title": "Repository",
    "menu": "Repository",
    "selects": true,
    "question": "Which trials are recorded?",
    "about": "All trials, with filters, search and downloads.",
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
  "cost": {
    "topic": "results",
    "path": "/cost",
    "title": "Cost and time",
    "menu": "Cost",
    "selects": true,
    "question": "Which configuration is best?",
    "about": "Time against cost at your prices, ranked, with ties.",
    "served": true
  },
  "compare": {
    "topic": "results",
    "path": "/compare",
    "title": "Compare",
    "menu": "Compare",
    "selects": true,
    "question": "Is the difference real?",
    "about": "Distributions, the ratio with its interval, and a verdict.",
    "served": true
  },
  "effect": {
    "topic": "results",
    "path": "/effect",
    "title": "Effects",
    "menu": "Effects",
    "selects": true,
    "question": "What is the effect of a setting?",
    "about": "Disk, network, maps or compression, all else being equal.",
    "served": true
  },
  "scaling": {
    "topic": "results",
    "path": "/scaling",
    "title": "Scaling",
    "menu": "Scaling",
    "selects": true,
    "question": "How does it scale?",
    "about": "Time by nodes, data size or cores: points, curve, memory cliff.",
    "served": true
  },
  "exclusions": {
    "topic": "results",
    "path": "/exclusions",
    "title": "Exclusions",
    "menu": "Exclusions",
    "selects": false,
    "question": "Which trials don't count, and why?",
    "about": "Exclusion rules with author and reason. You can revoke them.",
    "served": true
  },
  "predictions": {
    "topic": "results",
    "path": "/predictions",
    "title": "Predictions",
    "menu": "Predictions",
    "selects": true,
    "question": "How far off are predictions?",
    "about": "Predicted against measured time, by workload, bottleneck and distance.",
    "served": true
  },
  "jobs": {
    "topic": "jobs",
    "path": "/jobs",
    "title": "Two jobs",
    "menu": "Two jobs",
    "selects": false,
    "question": "Why was it slower today?",
    "about": "Compare two Spark or MapReduce runs: time, settings, plans, data.",
    "served": true
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
  },
  "whatif": {
    "topic": "jobs",
    "path": "/whatif",
    "title": "What if",
    "menu": "What if",
    "selects": false,
    "question": "What would the job take elsewhere?",
    "about": "Predicted time and cost of a recorded Spark job on other machines, settings and data.",
    "served": true
  },
  "advice": {
    "topic": "machines",
    "path": "/advice",
    "title": "Hardware advice",
    "menu": "Advice",
    "selects": false,
    "question": "Which machines, how many, at what cost?",
    "about": "Predicted time and cost of a sort on cloud machines.",
    "served": true
  },
  "catalog": {
    "topic": "machines",
    "path": "/catalog",
    "title": "Catalogs",
    "menu": "Catalogs",
    "selects": false,
    "question": "What do machines offer, and how much do they cost?",
    "about": "Machine types with their rates and prices, and the source of each.",
    "served": true
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
  "start": {
    "topic": "share",
    "path": "/",
    "title": "Trial repository",
    "menu": "Overview",
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
  }
};
