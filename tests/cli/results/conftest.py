"""Shared by the tests of these verbs."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from venturi.cli.main import main
from venturi.core.settings import Settings


@pytest.fixture
def venturi(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Runs `venturi` with the arguments given; its status, stdout and stderr."""
    monkeypatch.setenv("VENTURI_HOME", str(settings.home))

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["venturi", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as exited:
            main()
        said = capsys.readouterr()
        return int(exited.value.code or 0), said.out, said.err

    return run
