"""Takes the pictures of the documentation: fills a repository of its own with real data, serves it,
and photographs its pages in headless Chromium.

Usage: python scripts/screenshots.py. Takes about two minutes; replaces docs/images/*.png, and
scripts/picture_sources.json, the digests by which a test finds pictures older than their pages.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs" / "images"
VENTURI = Path(sys.executable).parent / "venturi"
DATA = ROOT / "tests" / "data"
SPARK_LOG = DATA / "spark/4.3.0/spill.log"
SOURCES = ROOT / "scripts/picture_sources.json"
PAGES = ROOT / "web/src/pages"
PAGE_OF = {
    "report": "share/report",
    "report-sort": "share/report",
    "advice": "machines/advice",
    "trials": "results/repository",
    "job": "results/trial",
    "cost": "results/cost",
    "memory-cliff": "results/scaling",
    "catalog": "machines/catalog",
}
"""The folder of the page that each picture shows."""
CLIFF = [("where", "source=Jaffe 2017, Table 21"), ("x", "input_bytes")]
QUICKSTART_BUDGET = "90s"
# Invented rows in the format of a public data set that may not be shipped; captions say so.
COST = [
    ("where", "cluster=lab-a"),
    ("where", "workload=terasort"),
    ("where", "scale="),
    ("by", "net"),
    ("by", "disk"),
    ("usd_per_hour", "3.5"),
    ("plus", "net=IB:0.8"),
    ("plus", "disk=SSD:0.7"),
    ("plus", "disk=SS2:1.4"),
    ("objective", "cost"),
]


def venturi(folder: Path, *words: object) -> str:
    """Run `venturi` and return its stdout; its stderr is shown."""
    done = subprocess.run(
        [VENTURI, *map(str, words)],
        cwd=folder,
        env=environment(folder),
        check=True,
        text=True,
        stdout=subprocess.PIPE,
    )
    return done.stdout


def environment(folder: Path) -> dict[str, str]:
    """The caller's, without settings of Venturi, and with a repository in `folder`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("VENTURI_")}
    return {**kept, "VENTURI_HOME": str(folder / "home")}


def fill(folder: Path) -> str:
    """Measures, ingests and imports; the id of the Spark application."""
    venturi(folder, "quickstart", "--time-budget", QUICKSTART_BUDGET, "--report", "report.html")
    venturi(folder, "import", "spark-eventlog", SPARK_LOG)
    venturi(folder, "import", "published")
    venturi(folder, "import", "aloja", DATA / "results/aloja-minerva/trials.csv")
    venturi(folder, "advise", "hardware", "--sort", "100TB", "--html", "advice.html")
    listed = json.loads(venturi(folder, "ls", "--engine", "spark", "--json"))["data"]
    return next(str(each["id"]) for each in listed if each["id"].startswith("spark-eventlog-"))


def pictures(folder: Path, server: str, application: str) -> list[dict[str, object]]:
    """The job of web/tests/shot.mjs."""
    report, advice = ((folder / name).as_uri() for name in ("report.html", "advice.html"))
    return [
        {"name": "report", "url": report, "until": "#answer"},
        {"name": "report-sort", "url": report, "element": "article"},
        {"name": "advice", "url": advice, "until": ".chart"},
        {"name": "trials", "url": f"{server}/trials", "height": 900},
        {"name": "job", "url": f"{server}/trials/{application}", "until": ".chart"},
        {
            "name": "cost",
            "url": f"{server}/cost?{urlencode(COST)}",
            "from": ':is(h2, h3, h4):has-text("Time against cost")',
            "until": 'section:has(h2:has-text("Ranking by"))',
        },
        {"name": "memory-cliff", "url": f"{server}/scaling?{urlencode(CLIFF)}", "until": ".chart"},
        {"name": "catalog", "url": f"{server}/catalog?catalog=current", "until": ".chart"},
    ]


@contextmanager
def served(environ: Mapping[str, str]) -> Iterator[str]:
    """The address of a server with the settings in `environ`, without a slash at its end."""
    command = [str(VENTURI), "serve", "--port", "0"]
    with subprocess.Popen(command, env=environ, text=True, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().split()[-1].rstrip("/")
        finally:
            server.terminate()


def digests() -> dict[str, str]:
    """Return, for each picture, the SHA-256 of the sources of its page and of every page's
    frame.
    """
    frame = [ROOT / "web/src/app.tsx", *sorted((ROOT / "web/src").glob("*.css"))]
    found = {}
    for picture, page in PAGE_OF.items():
        sources = sorted(path for path in (PAGES / page).rglob("*") if path.is_file())
        sha256 = hashlib.sha256(b"".join(path.read_bytes() for path in [*sources, *frame]))
        found[picture] = sha256.hexdigest()
    return found


def take(wanted: list[dict[str, object]]) -> None:
    """Take the pictures of a job of web/tests/shot.mjs."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as job:
        json.dump(wanted, job)
        job.flush()
        shot = ROOT / "web/tests/shot.mjs"
        subprocess.run(["node", shot, chromium(), job.name, IMAGES], check=True)


def chromium() -> str:
    """Return the path of Chromium; SystemExit if it isn't installed."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    if found is None:
        raise SystemExit("there is no Chromium: scripts/system-packages.sh installs it")
    return found


def main() -> int:
    """Exit status: 1 if there is no Chromium."""
    chromium()
    with tempfile.TemporaryDirectory(prefix="lab-") as made:
        folder = Path(made)
        application = fill(folder)
        with served(environment(folder)) as server:
            take(pictures(folder, server, application))
    SOURCES.write_text(json.dumps(digests(), indent=1) + "\n")
    for path in sorted(IMAGES.iterdir()):
        sys.stdout.write(f"{path.relative_to(ROOT)}: {path.stat().st_size // 1000} kB\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
