"""Code that depends on an engine's name is found; the names are those of the engines there are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = Path("python/venturi")


def check(root: Path) -> tuple[int, list[str]]:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "engine_names.py", root],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": ""},
    )
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with the engines `abacus`, also called `beads`, and `quipu`."""
    kind = "class EngineKind:\n    def __init__(self, name, aliases):\n"
    files = {
        "__init__.py": "",
        "measure/__init__.py": "",
        "measure/engines/__init__.py": "",
        "measure/engines/registry.py": f"{kind}        self.name, self.aliases = name, aliases\n"
        "ENGINES = {'a': EngineKind('abacus', ('beads',)), 'q': EngineKind('quipu', ())}\n"
        "assert ENGINES['a'].name == 'abacus'\n",
        "record/__init__.py": "",
        "record/account_kind.py": "class AccountKind:\n    engine = ''\nQUIPU = AccountKind()\n",
    }
    for name, text in files.items():
        path = tmp_path / PACKAGE / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_this_project_compares_no_engine_name() -> None:
    assert check(ROOT) == (0, [])


@pytest.mark.parametrize(
    ("planted", "name"),
    [
        ("def f(engine): return engine == 'abacus'", "abacus"),
        ("def f(engine): return 'quipu' != engine.name", "quipu"),
        ("def f(engine): return engine in ('native', 'beads')", "beads"),
        ("def f(spec): return spec.startswith('abacus:cluster')", "abacus"),
        ("def f(spec): return spec.startswith(('x', 'quipu'))", "quipu"),
        ("def f(found): return found.get('quipu')", "quipu"),
        ("def f(found): return found['abacus']", "abacus"),
        ("TABLE = {'abacus': 1}", "abacus"),
        ("ONLY = frozenset({'abacus'})\ndef f(engine): return engine in ONLY", "abacus"),
        ("def f(engine):\n    match engine:\n        case 'quipu': pass", "quipu"),
        ("from x import NAME\ndef f(engine): return engine == NAME", "NAME"),
        ("from x import abacus\ndef f(e): return e.name == abacus.NAME", "abacus.NAME"),
        ("from x import KIND\ndef f(e): return e.name == KIND.name", "KIND.name"),
        ("def f(kind): return kind is QUIPU", "QUIPU"),
        ("def f(account): return account.engine == QUIPU.engine", "QUIPU.engine"),
    ],
)
def test_a_planted_comparison_is_found(project: Path, planted: str, name: str) -> None:
    (project / PACKAGE / "jobs").mkdir()
    (project / PACKAGE / "jobs" / "planted.py").write_text(f"{planted}\n")
    line = planted.count("\n") + 1
    status, said = check(project)
    assert status == 1
    assert said == [
        f"{PACKAGE}/jobs/planted.py:{line}: {name} is an engine's name: ask its KIND or the "
        "account's kind"
    ]


@pytest.mark.parametrize(
    "text",
    [
        "def f(engine): return engine.kind.many_at_once",
        "def f(engine): return engine == 'spark'",  # which is not an engine here
        "def f(make): return make('abacus', engine='quipu')",
        "def f(url): return url.startswith('quipu://')",
        "TEXT = 'abacus and quipu'",
    ],
)
def test_what_does_not_depend_on_a_name_is_left_alone(project: Path, text: str) -> None:
    (project / PACKAGE / "ok.py").write_text(f"{text}\n")
    assert check(project) == (0, [])


def test_importers_translate_the_words_of_others(project: Path) -> None:
    folder = project / PACKAGE / "results" / "importers"
    folder.mkdir(parents=True)
    (folder / "table.py").write_text("ENGINES = {'beads': 'abacus'}\n")
    assert check(project) == (0, [])
    (folder / "table.py").write_text("def f(trial): return trial.engine == 'abacus'\n")
    assert check(project)[0] == 1
