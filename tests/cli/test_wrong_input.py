"""Plausible typing errors: every verb answers with a user's error, never a traceback."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from command_line import venturi
from venturi.cli.main import cli

SORT = ("--sort", "1TB")
MACHINE = ("--on", "i2.8xlarge:10")
WRONG: tuple[tuple[str, ...], ...] = (
    ("quickstart", "--time-budget", "3"),
    ("quickstart", "--dir", "{tmp}/none"),
    ("quickstart", "--report", "{tmp}"),
    ("probe", "dsk"),
    ("probe", "disk", "--dir", "{tmp}/file"),
    ("probe", "disk", "--bytes", "2G"),
    ("probe", "disk", "--mode", "reed"),
    ("probe", "net", "--peer", "nowhere"),
    ("probe", "net", "--loopback", "one"),
    ("token", "add", "CI", "--role", "read"),
    ("token", "add", "ci", "--role", "read", "--expires", "yesterday"),
    ("token", "revoke", "nobody"),
    ("gen", "{tmp}/x", "--bytes", "12"),
    ("gen", "{tmp}/x", "--count", "-1"),
    ("gen", "{tmp}", "--count", "1"),
    ("gen", "{tmp}/file/x", "--count", "1"),
    ("sort", "{tmp}/none", "-o", "{tmp}/out"),
    ("sort", "{tmp}/file", "-o", "{tmp}/file"),
    ("sort", "{tmp}/file", "-o", "{tmp}/out\udcff"),
    ("sort", "{tmp}/file", "-o", "{tmp}/out", "--memory", "lots"),
    ("validate", "{tmp}/none"),
    ("validate", "{tmp}/file", "--key-bytes", "ten"),
    ("run", "terasrt"),
    ("run", "terasort", "--engine", "sparc"),
    ("run", "terasort", "--engine", ""),
    ("run", "terasort", "--scale", "smal"),
    ("run", "terasort", "--timeout", "10"),
    ("run", "terasort", "--param", "k"),
    ("run", "terasort", "--dir", "{tmp}/file/x"),
    ("run", "terasort", "--dir", "inputs={tmp}"),
    ("workloads", "kmean"),
    ("plan", "check", "{tmp}/none.toml"),
    ("plan", "check", "{tmp}/file"),
    ("plan", "start", "{tmp}"),
    ("plan", "status", "{tmp}/file"),
    ("lab", "up", "{tmp}/none.toml"),
    ("lab", "up", "{tmp}/file"),
    ("lab", "exec", "h1", "true"),
    ("lab", "down", "--lab", "nonesuch"),
    ("lab", "down", "--lab", "n" * 300),
    ("cluster", "check", "lab:" + "n" * 300),
    ("cluster", "push", "lab:../labs"),
    ("cluster", "check", "{tmp}/none.toml"),
    ("cluster", "check", "{tmp}/file"),
    ("cluster", "push", "lab:none"),
    ("engines", "install", "spark"),
    ("engines", "jar", "tiered-storage", "--spark", "2.4"),
    ("engines", "jar", "tiered-storage", "--spark", "four"),
    ("run", "terasort", "--engine", "spark", "--tiers", "ssd"),
    ("run", "terasort", "--tiers", "ssd 2GB"),
    ("ls", "--where", "nonsense"),
    ("keys", "disk", "net"),
    ("ls", "--where", "elapsed_s>soon"),
    ("ls", "--since", "yesterday"),
    ("ls", "--since", "7"),
    ("ls", "--limit", "-1"),
    ("ls", "--state", "done"),
    ("show", "01ZZZ"),
    ("show", ""),
    ("trace", "shwo"),
    ("trace", "record", "--dir", "{tmp}", "--for", "0s", "-o", "{tmp}/new"),
    ("trace", "show", "{tmp}/none"),
    ("trace", "show", "{tmp}/file"),
    ("trace", "show", "{tmp}"),
    ("trace", "convert", "{tmp}/file", "-o", "{tmp}/new"),
    ("compare", "a"),
    ("compare", "a", "b"),
    ("effect",),
    ("effect", "disk", "--level", "95"),
    ("rank", "--by", "engine", "--objective", "cheap"),
    ("scaling", "hosts", "--to", "0"),
    ("rank", "--by", "engine", "--usd-per-hour", "1", "--plus", "net=IB"),
    ("advise", "hardware", "--sort", "100"),
    ("advise", "hardware", *SORT, "--deadline", "30"),
    ("advise", "hardware", *SORT, "--catalog", "ec2-2041"),
    ("advise", "hardware", *SORT, "--budget", "cheap"),
    ("advise", "hardware", "--job", "{tmp}/file"),
    ("advise", "hardware"),
    ("jobs", "--where", "nothing"),
    ("jobs", "--limit", "many"),
    ("whatif", "last", "--executors", "2"),
    ("whatif", "last", "--network", "0Gbit/s"),
    ("whatif", "last", "--on", "i4i.4xlarge"),
    ("advise", "tiers", "last"),
    ("advise", "tiers", "last", "--fast", "seek=9"),
    ("advise", "tiers", "last", "--size", "50"),
    ("predict", *SORT, "--on", "i2.8xlarg:10"),
    ("predict", *SORT, "--on", "i2.8xlarge"),
    ("predict", *SORT, *MACHINE, "--html", "{tmp}"),
    ("simulate", *SORT, *MACHINE, "--deadline", "1h30"),
    ("simulate", *SORT, *MACHINE, "--storage", "fast"),
    ("simulate", *SORT, *MACHINE, "--skew", "cv:much"),
    ("catalog", "show", "ec2-2014", "i2.9xlarge"),
    ("catalog", "show", "{tmp}/file"),
    ("catalog", "import", "wide", "{tmp}/none", "-o", "{tmp}/c.csv"),
    ("catalog", "diff", "current", "past"),
    ("prices", "set", "core-hour", "-1"),
    ("prices", "set", "node", "0.686"),
    ("prices", "unset", "core-hour"),
    ("exclude", "add", "--where", "engine", "--reason", "x"),
    ("exclude", "add", "--where", "engine=spark", "--reason", ""),
    ("exclude", "revoke", "01ZZZ"),
    ("serve", "--port", "http"),
    ("serve", "--host", "0.0.0.0"),
    ("report", "/nopage", "-o", "{tmp}/x.html"),
    ("report", "/trials", "-o", "{tmp}"),
    ("push", "not-a-url"),
    ("export", "-o", "{tmp}/x.zip"),
    ("export", "01ZZZ", "-o", "{tmp}/x.zip"),
    ("import", "{tmp}/none"),
    ("import", "{tmp}/file"),
    ("import", "alojaa", "{tmp}/file"),
    ("import", "spark-eventlog", "{tmp}/none"),
    ("import", "spark-event-log", "{tmp}"),
    ("import", "aloja", "http://history:18080"),
    ("import", "{tmp}/none", "--watch"),
    ("import", "aloja", "{tmp}/file", "--watch"),
    ("doctor", "--facts", "{tmp}/file"),
    ("remove",),
    ("remove", "--where", "engine"),
    ("remove", "--where", "engine=spark", "--yes"),
    ("backup", "{tmp}"),
    ("restore", "{tmp}/none"),
    ("restore", "{tmp}/file"),
    ("repository", "check", "--dir", "{tmp}/none"),
    ("repository", "readmit", "none"),
    ("completion", "tcsh"),
    ("version", "--jsn"),
)


def test_every_verb_is_tried() -> None:
    assert {words[0] for words in WRONG} == set(cli.verbs)


@pytest.mark.parametrize("words", WRONG, ids=lambda words: ascii(" ".join(words)))
def test_wrong_input_is_the_user_s_error(
    tmp_path: Path, agent_binary: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "file").write_text("neither a log nor a catalog\n")
    given = (word.format(tmp=tmp_path) for word in words)
    done = venturi(*given, home=tmp_path / "home", VENTURI_AGENT=str(agent_binary))
    assert done.returncode in {1, 2}, done.stdout + done.stderr
    said = done.stderr
    assert "Traceback" not in said
    assert re.search(r"error\[VEN-[A-Z-]+\]: \S|^Error: \S|refused", said, re.M), said


@pytest.mark.parametrize("words", [("lab", "up"), ("cluster", "check"), ("plan", "check")])
def test_what_is_no_file_that_somebody_wrote_is_not_read(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    pipe, large = tmp_path / "pipe", tmp_path / "large"
    os.mkfifo(pipe)
    with large.open("wb") as file:
        file.truncate(2**40)
    for path, why in (
        (pipe, "(cannot be read: it is not a file|is a named pipe)"),
        (large, "cannot be read: it has more than 16 MiB"),
    ):
        done = venturi(*words, path, home=tmp_path / "home")
        assert done.returncode == 2, done.stdout + done.stderr
        assert re.search(f"{re.escape(str(path))} {why}", " ".join(done.stderr.split()))
