"""Everything that Chromium met on the served pages."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from chart_reading import Finding
from page_urls import LAB, PAGES

import pages_samples
from api_client import READ_TOKEN, Server

WEB = Path(__file__).parents[2] / "web"


@pytest.fixture(scope="session")
def met(tmp_path_factory: pytest.TempPathFactory) -> Finding:
    """All that Chromium met."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    if chromium is None:
        pytest.skip("Chromium is not installed (Debian package chromium)")
    if shutil.which("node") is None or not (WEB / "node_modules" / "playwright-core").is_dir():
        pytest.skip("playwright-core is not installed: `make setup` installs it")
    folder = tmp_path_factory.mktemp("pages")
    shots = os.environ.get("PAGE_SHOTS_DIR", "")
    if shots:
        Path(shots).mkdir(parents=True, exist_ok=True)
    home, job = folder / "home", folder / "job.json"
    home.mkdir()
    pages_samples.filled(home)
    servers = [
        Server(home, "--port", "0"),
        Server(folder / "empty", "--port", "0"),
        Server(home, "--port", "0", VENTURI_READ_TOKEN=READ_TOKEN),
    ]
    try:
        named = zip(("server", "empty", "locked"), servers, strict=True)
        addresses = {name: server.start().url.rstrip("/") for name, server in named}
        told = {
            "pages": PAGES,
            "lab": LAB,
            "source": pages_samples.LAB,
            "token": READ_TOKEN,
            "sixteen": f"/trials/{pages_samples.SIXTEEN}",
        }
        folders = {"shots": shots, "downloads": str(folder)}
        job.write_text(json.dumps(addresses | told | folders))
        played = subprocess.run(
            ["node", str(WEB / "tests" / "pages.mjs"), chromium, str(job)],
            env={**os.environ, "TMPDIR": str(folder)},  # the browser's profile
            capture_output=True,
            text=True,
            timeout=560,
            check=False,
        )
    finally:
        for server in servers:
            if server.process is not None:
                server.process.kill()
                server.process.communicate()
    assert played.returncode == 0, played.stderr
    found: Finding = json.loads(played.stdout)
    return found


@pytest.fixture
def scene(met: Finding, request: pytest.FixtureRequest) -> Finding:
    """The findings of the scene that the test's mark names."""
    name: str = request.param
    found: Finding = met["scenes"][name]
    assert "failed" not in found, found["failed"]
    assert found["problems"] == []
    return found
