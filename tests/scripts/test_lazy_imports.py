"""An import inside a function that spares nothing is found, and the product has none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def check(root: Path) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "lazy_imports.py", root],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    return done.returncode, done.stdout


def put(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / "python" / "venturi" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_the_product_has_none() -> None:
    assert check(ROOT) == (0, "")


@pytest.mark.parametrize(
    "planted",
    [
        "from venturi.light import f",
        "from venturi import light",
        "import json",
        "from venturi.heavy import g",  # numpy is here already
    ],
)
def test_an_import_that_spares_nothing_is_found(tmp_path: Path, planted: str) -> None:
    put(
        tmp_path,
        {
            "__init__.py": "",
            "light.py": "def f(): ...\n",
            "heavy.py": "import numpy\ndef g(): ...\n",
            "verb.py": f"import numpy as np\ndef verb():\n    {planted}\n",
        },
    )
    said = f"python/venturi/verb.py:3: `{planted}` spares nothing inside a function\n"
    assert check(tmp_path) == (1, said)


@pytest.mark.parametrize(
    "kept",
    [
        "def verb():\n    import numpy as np\n",
        "def verb():\n    from venturi.uses_heavy import h\n",
        "async def verb():\n    from venturi.world import w\n",
        "if TYPE_CHECKING:\n    import numpy\ndef verb():\n    from venturi.heavy import g\n",
    ],
)
def test_a_heavy_library_or_a_part_of_the_product_may_wait(tmp_path: Path, kept: str) -> None:
    put(
        tmp_path,
        {
            "__init__.py": "",
            "heavy.py": "import numpy\ndef g(): ...\n",
            "uses_heavy.py": "from venturi.heavy import g\ndef h(): ...\n",
            "world.py": "".join(f"from venturi import part{n}\n" for n in range(3)),
            **{f"part{n}.py": "" for n in range(3)},
            "verb.py": kept,
        },
    )
    assert check(tmp_path) == (0, "")
