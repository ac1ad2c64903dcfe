"""The Python of the guide and of the example notebook does what they show, and is typed."""

from __future__ import annotations

import doctest
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from documents import blocks

from command_line import venturi

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs/guide/results/python.md"
NOTEBOOK = ROOT / "docs/guide/results/trials.ipynb"
RUN_GUIDE = """
import doctest, sys
text = sys.stdin.read()
test = doctest.DocTestParser().get_doctest(text, {}, "guide", None, 0)
runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
sys.exit(runner.run(test).failed)
"""
RUN_NOTEBOOK = """
import ast, contextlib, io, json, sys
names, told = {"__name__": "__main__"}, []
for source in json.load(sys.stdin):
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(io.StringIO()) as said:
        exec(compile(tree, "cell", "exec"), names)
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), names) if last else None
    told.append([said.getvalue(), None if value is None else repr(value)])
json.dump(told, sys.stdout)
"""


def code() -> str:
    """The examples of the guide."""
    return "\n".join(block.text for block in blocks(GUIDE.read_text()) if block.kind == "python")


def python(program: str, given: str, home: Path) -> subprocess.CompletedProcess[str]:
    """`program` in a fresh process, `given` on its stdin, on the repository `home`."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        input=given,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "VENTURI_HOME": str(home)},
    )


@pytest.mark.slow
def test_every_example_of_the_guide_gives_what_it_shows(tmp_path: Path) -> None:
    assert venturi("import", "published", home=tmp_path).returncode == 0
    assert len(doctest.DocTestParser().get_examples(code())) > 15
    done = python(RUN_GUIDE, code(), tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_the_examples_are_typed(tmp_path: Path) -> None:
    file = tmp_path / "example.py"
    file.write_text("".join(each.source for each in doctest.DocTestParser().get_examples(code())))
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", ROOT / ".mypy_cache", file],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_the_notebook_gives_what_it_shows(tmp_path: Path) -> None:
    cells = [
        each for each in json.loads(NOTEBOOK.read_text())["cells"] if each["cell_type"] == "code"
    ]
    assert len(cells) > 5
    done = python(RUN_NOTEBOOK, json.dumps(["".join(each["source"]) for each in cells]), tmp_path)
    assert done.returncode == 0, done.stderr
    for cell, (said, value) in zip(cells, json.loads(done.stdout), strict=True):
        assert shown(cell, "stream") == said
        assert shown(cell, "execute_result") == (value or "")


def shown(cell: dict[str, object], kind: str) -> str:
    """The text of the outputs of `kind` that are stored with `cell`."""
    outputs: list[dict[str, object]] = cell["outputs"]  # type: ignore[assignment]
    texts = [
        each["text"] if kind == "stream" else each["data"]["text/plain"]  # type: ignore[index]
        for each in outputs
        if each["output_type"] == kind
    ]
    return "".join("".join(text) for text in texts)  # type: ignore[arg-type]
