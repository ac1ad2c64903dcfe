"""The pages that the browser opens, by a name, and how many charts each has."""

from __future__ import annotations

from urllib.parse import urlencode

import cluster_samples
import job_samples
import own_samples
import pages_samples
import tiers_samples

LAB = urlencode([("where", f"source={pages_samples.LAB}"), ("where", "hosts=4")])
ALL = urlencode([("where", f"source={pages_samples.LAB}")])
PRICED = "usd_per_hour=2&plus=disk%3DSSD:0.5&objective=cost"
MINERVA = urlencode([("where", w) for w in ("cluster=lab-a", "workload=terasort", "scale=")])
PAGES = {
    "start": "/",
    "trials": f"/trials?{ALL}&columns=workload&columns=elapsed_s&columns=started_at",
    "trial": f"/trials/{pages_samples.WATCHED}",
    "failed": f"/trials/{pages_samples.FAILED}",
    "job": f"/trials/{own_samples.OWN}",
    "planned": f"/trials/{job_samples.PLANNED}",
    "tiers": f"/trials/{tiers_samples.TIERED}",
    "clusters": f"/clusters?{urlencode({'name': cluster_samples.LAB})}",
    "network": f"/trials/{cluster_samples.NET}",
    "sort": f"/trials/{cluster_samples.SORT}",
    "forty": f"/trials/{pages_samples.FORTY}",
    "cost": f"/cost?{LAB}&by=disk&by=net&{PRICED}",
    "published": f"/cost?{MINERVA}&by=net&by=disk&usd_per_hour=3.5&plus=net%3DIB:0.8",
    "compare": f"/compare?{LAB}&by=disk&by=net",
    "jobs": f"/jobs?before={tiers_samples.TIERED}&after={own_samples.OWN}",
    "whatif": f"/whatif?trial={job_samples.PLANNED}&executors=4&data=2x",
    "ranked": f"/whatif?trial={job_samples.PLANNED}&on=current&deadline=10min",
    "effect": f"/effect?{ALL}&key=disk",
    "scaling": f"/scaling?{ALL}&by=disk",
    "predictions": "/predictions",
    "advice": "/advice",
    "catalog": "/catalog?catalog=current",
    "exclusions": "/exclusions",
}
CHARTS = {
    "start": 0,
    "trials": 0,
    "trial": 3,
    "failed": 0,
    "job": 2,
    "planned": 5,
    "tiers": 3,
    "clusters": 0,
    "network": 2,
    "sort": 2,
    "forty": 2,
    "cost": 1,
    "published": 1,
    "compare": 2,
    "jobs": 1,
    "whatif": 2,
    "ranked": 1,
    "effect": 4,
    "scaling": 2,
    "predictions": 1,
    "advice": 2,
    "catalog": 1,
    "exclusions": 0,
}
