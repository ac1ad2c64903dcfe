"""First paint and size of the served pages in Chromium: `python -m benchmarks.web.browser`.

Starts its own `venturi serve` on the starter set, on loopback. Each page is opened five times with
an empty cache; figures are medians. The bars: 350 KB of compressed JavaScript for the first page, a
first contentful paint within 1.5 s.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path

from benchmarks.web.pages import served
from venturi.core.settings import Settings
from venturi.record.starter import import_starter
from venturi.record.store.repository import TrialRepository

REPEATS = 5
PAGES = (
    "/",
    "/trials",
    "/compare?where=workload%3Dterasort&by=platform",
    "/cost?where=workload%3Dterasort&by=platform&usd_per_hour=3.5",
    "/advice",
)
SCRIPT = Path(__file__).parents[2] / "web" / "tests" / "paint.mjs"


def main() -> None:
    """Print a line per page."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        raise SystemExit("Chromium is not installed (Debian package chromium)")
    with tempfile.TemporaryDirectory() as folder:
        with TrialRepository.open(
            Settings(Path(folder), None, None, allow_debug=False)
        ) as repository:
            import_starter(repository)
        with served(Path(folder)) as client:
            base = str(client.base_url).rstrip("/")
            urls = [base + page for page in PAGES]
            done = subprocess.run(
                ["node", str(SCRIPT), chromium, str(REPEATS), *urls],
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            )
    print(f"{'page':12} {'first paint ms':>15} {'most ms':>9} {'script bytes':>13} {'style':>7}")
    for page, all_ in zip(PAGES, json.loads(done.stdout).values(), strict=True):
        paints = [one["paint_ms"] for one in all_]
        sizes = [f"{all_[0][kind]:,}" for kind in ("script_bytes", "style_bytes")]
        name = page.partition("?")[0]
        median = statistics.median(paints)
        print(f"{name:12} {median:>15.0f} {max(paints):>9.0f} {sizes[0]:>13} {sizes[1]:>7}")


if __name__ == "__main__":
    main()
