"""The frame: exit statuses, errors as JSON, SIGTERM, the start-up budget."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest

from command_line import PROGRAM, started, venturi
from venturi.cli.main import RENAMED, cli, main
from venturi.core.topics import TOPICS, heading


def test_help_lists_every_verb_and_imports_none(tmp_path: Path) -> None:
    program = (
        "import sys; from venturi.cli.main import cli; cli(['--help'], standalone_mode=False); "
        "sys.exit(sorted(m for m in sys.modules if m.split('.')[0] in {'rich', 'numpy', "
        "'sqlalchemy', 'polars', 'pydantic', 'scipy', 'pyarrow'}) or None)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert all(verb in done.stdout for verb in cli.verbs)


def test_help_lists_the_verbs_under_the_topic_that_they_answer(tmp_path: Path) -> None:
    done = venturi("--help", home=tmp_path, COLUMNS="80")
    lines = done.stdout.splitlines()
    assert done.returncode == 0
    assert max(map(len, lines)) <= 80
    assert "\x1b" not in done.stdout
    headings = [heading(topic) for topic in TOPICS]
    assert [line for line in lines if line in {*headings, "More"}] == [*headings, "More"]
    listed = {
        title: re.findall(r"^  (\w+)", text, re.MULTILINE)
        for title, text in zip(
            [*headings, "More"],
            re.split("|".join(map(re.escape, [*headings, "\nMore\n"])), done.stdout)[1:],
            strict=True,
        )
    }
    assert listed[headings[0]][:3] == ["quickstart", "probe", "run"]
    assert listed["More"] == ["completion", "version"]
    assert {verb for verbs in listed.values() for verb in verbs} == set(cli.verbs)


def test_every_verb_is_a_file_in_the_folder_of_a_topic(tmp_path: Path) -> None:
    for name, verb in cli.verbs.items():
        *folder, file = verb["module"].split(".")
        assert file.strip("_") == name
        assert folder in [[], *([topic] for topic in TOPICS)]


@pytest.mark.parametrize("words", [(), ("import",), ("engines", "jar")])
@pytest.mark.parametrize("columns", ["80", "60"])
def test_help_is_a_verb_too(tmp_path: Path, words: tuple[str, ...], columns: str) -> None:
    asked = venturi("help", *words, home=tmp_path, COLUMNS=columns)
    assert (asked.returncode, asked.stderr) == (0, "")
    assert asked.stdout == venturi(*words, "--help", home=tmp_path, COLUMNS=columns).stdout
    assert "did you mean rank" in venturi("help", "rnk", home=tmp_path).stderr


@pytest.mark.parametrize("old", RENAMED, ids=" ".join)
def test_an_old_spelling_stands_for_the_new_one(tmp_path: Path, old: tuple[str, ...]) -> None:
    done = venturi(*old, "--help", home=tmp_path)
    assert done.stdout == venturi(*RENAMED[old], "--help", home=tmp_path).stdout
    (note,) = done.stderr.splitlines()
    assert f"`venturi {' '.join(old)}` is now `venturi {' '.join(RENAMED[old])}`" in note
    assert old[0] not in cli.verbs or old[1] not in venturi(old[0], "--help", home=tmp_path).stdout


def test_help_of_a_verb_is_what_click_would_print_and_loads_no_verb(tmp_path: Path) -> None:
    wide = venturi("catalog", "import", "--help", home=tmp_path, COLUMNS="120").stdout
    context = click.Context(cli, info_name="venturi", **cli.context_settings)
    for name in ("catalog", "import"):
        assert isinstance(context.command, click.Group)
        command = context.command.get_command(context, name)
        assert command is not None
        context = click.Context(command, context, name, terminal_width=78)
    assert wide == context.command.get_help(context) + "\n"
    program = (
        "import sys; sys.argv[:] = ['venturi', 'catalog', 'import', '-h']; "
        "from venturi.cli import main; main.cli.main = None; "
        "import contextlib\nwith contextlib.suppress(SystemExit): main.main()\n"
        "sys.exit('venturi.cli.machines.catalog' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "COLUMNS": "80"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, wide, "")


def test_help_fits_a_narrow_terminal(tmp_path: Path) -> None:
    narrow = venturi("catalog", "import", "--help", home=tmp_path, COLUMNS="60").stdout
    assert max(map(len, narrow.splitlines())) <= 60


@pytest.fixture(scope="module")
def helps() -> dict[str, tuple[str, list[str]]]:
    """The help of each verb, shown one after the other in one process, and the heavy modules that
    are loaded by then.
    """
    program = """
import contextlib, io, json, sys
from venturi.cli.main import cli
heavy = {'rich', 'numpy', 'sqlalchemy', 'polars', 'scipy', 'pyarrow'}
helps = {}
for verb in cli.verbs:
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        cli([verb, '--help'], standalone_mode=False)
    helps[verb] = shown.getvalue(), sorted(heavy & set(sys.modules))
print(json.dumps(helps))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return {verb: (shown, loaded) for verb, (shown, loaded) in json.loads(done.stdout).items()}


@pytest.mark.parametrize("verb", cli.verbs)
def test_the_help_of_a_verb_stays_light(helps: dict[str, tuple[str, list[str]]], verb: str) -> None:
    shown, loaded = helps[verb]
    assert loaded == []
    assert "Usage" in shown


def test_every_option_says_what_it_does() -> None:
    silent = []
    for verb in cli.verbs:
        command = cli.get_command(click.Context(cli), verb)
        assert command is not None
        commands = command.commands.values() if isinstance(command, click.Group) else [command]
        for each in commands:
            silent += [
                f"{verb} {param.opts[0]}"
                for param in each.params
                if isinstance(param, click.Option) and not param.help
            ]
    assert silent == []


def test_an_error_is_json_on_stdout_when_asked_for(tmp_path: Path) -> None:
    done = venturi("gen", tmp_path / "x", "--bytes", "1 parsec", "--json", home=tmp_path)
    assert done.returncode == 2
    error = json.loads(done.stdout)["error"]
    assert error["code"] == "VEN-UNIT-SYNTAX"
    assert "error[VEN-UNIT-SYNTAX]" in done.stderr
    assert "hint:" in done.stderr


def test_usage_errors_exit_2_and_say_why(tmp_path: Path) -> None:
    done = venturi("gen", tmp_path / "x", home=tmp_path)
    assert done.returncode == 2
    assert "either --count or --bytes" in done.stderr


def test_an_agent_error_exits_1_and_keeps_its_code(tmp_path: Path) -> None:
    done = venturi("gen", tmp_path / "x", "--count", 1, home=tmp_path, FAKE_FAULT="error")
    assert done.returncode == 1
    assert "error[VEN-EXTSORT-SPACE]: the disk is full" in done.stderr
    assert "dir: /data" in done.stderr


@pytest.mark.slow
def test_a_failing_disk_is_an_error_without_a_traceback(tmp_path: Path) -> None:
    tracer = shutil.which("strace")
    if tracer is None:
        pytest.skip("needs strace (Debian: strace)")
    assert venturi("repository", "check", home=tmp_path).returncode == 0
    folder = tmp_path / "artifacts"
    folder.mkdir(mode=0o700, exist_ok=True)
    inject = ("-f", "-qq", "-o", "/dev/null", "-P", folder, "-e", "inject=getdents64:error=EIO")
    done = subprocess.run(
        [tracer, *inject, *PROGRAM, "repository", "check", "--dir", tmp_path],
        env={**os.environ, "VENTURI_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "error[VEN-SYSTEM]" in done.stderr
    assert str(folder) in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_stopped_trial_is_recorded_and_cleaned(tmp_path: Path, number: signal.Signals) -> None:
    marker = tmp_path / "temporary"
    disk = tmp_path / "disk"
    disk.mkdir()
    process = started(
        "run",
        "terasort",
        "--bytes",
        "10kB",
        "--dir",
        disk,
        "--experiment",
        "night",
        home=tmp_path / "home",
        FAKE_FAULT="hang-in-sort",
        FAKE_MARKER=str(marker),
    )
    while not marker.exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    process.send_signal(number)
    _, err = process.communicate(timeout=200)
    assert process.returncode == 130, err
    assert not marker.exists()  # the agent cleaned up
    assert list(disk.iterdir()) == []  # and so did we
    listed = venturi("ls", "--json", home=tmp_path / "home")
    assert '"interrupted"' in listed.stdout
    assert "found interrupted" not in listed.stderr  # recorded immediately, not recovered
    assert "error[VEN-INTERRUPTED]: interrupted: 0 of 6 repetitions are recorded" in err
    assert "--resume goes on" in err


def test_an_interrupted_gen_says_that_nothing_was_written(tmp_path: Path) -> None:
    marker = tmp_path / "temporary"
    process = started(
        "gen",
        tmp_path / "x",
        "--count",
        1,
        home=tmp_path / "home",
        FAKE_FAULT="hang",
        FAKE_MARKER=str(marker),
    )
    while not marker.exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert f"[VEN-INTERRUPTED]: interrupted: nothing was written to {tmp_path / 'x'}" in err
    assert not (tmp_path / "x").exists()


def test_ctrl_c_has_the_form_of_an_error(tmp_path: Path) -> None:
    process = started("doctor", "--facts", "-", "--json", home=tmp_path, stdin=subprocess.PIPE)
    while not Path(f"/proc/{process.pid}/syscall").read_text().startswith("0 0x0 "):  # it reads
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.strip() == "error[VEN-INTERRUPTED]: interrupted"
    assert json.loads(out)["error"]["code"] == "VEN-INTERRUPTED"


def test_ctrl_c_while_libraries_load_is_no_traceback(tmp_path: Path) -> None:
    """A library of a name that Venturi imports stands in the way, and waits."""
    there = tmp_path / "there"
    (tmp_path / "click.py").write_text(
        f"open({str(there)!r}, 'w').close()\nimport time\ntime.sleep(60)"
    )
    process = started("ls", home=tmp_path, PYTHONPATH=str(tmp_path))
    while not there.exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "error[VEN-INTERRUPTED]: interrupted\n")


@pytest.mark.parametrize("module", ["venturi", "venturi.cli.main"])
@pytest.mark.parametrize("option", ["--version", "-V"])
def test_the_version_is_an_option_too(module: str, option: str) -> None:
    words = [sys.executable, "-m", module, option]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("venturi 0.")


def test_a_misspelt_verb_option_or_file_is_guessed(tmp_path: Path) -> None:
    assert "did you mean rank" in venturi("rnk", home=tmp_path).stderr
    assert "--engine" in venturi("ls", "--enginee", "x", home=tmp_path).stderr
    (tmp_path / "study.toml").write_text("")


@pytest.mark.parametrize(
    "words",
    [
        ("plan", "check"),
        ("predict", "--on", "i2.8xlarge:1", "--job"),
        ("import", "aloja"),
        ("import",),
        ("import", "spark-eventlog"),
        ("doctor", "--facts"),
        ("catalog", "import", "wide", "-o", "c.csv"),
        ("sort", "-o", "out"),
    ],
)
def test_a_file_that_is_not_there_is_said_alike(tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "study.toml").write_text("")
    asked = tmp_path / "stduy.toml"
    done = venturi(*words, asked, home=tmp_path)
    assert done.returncode == 1
    first, _, hint = done.stderr.splitlines()
    assert re.fullmatch(
        rf"error\[VEN-[A-Z-]+\]: {asked} cannot be read: No such file or directory", first
    )
    assert hint.startswith(f"  hint: did you mean {tmp_path / 'study.toml'}?")


def test_a_setting_that_there_is_not_is_a_warning(tmp_path: Path) -> None:
    done = venturi("ls", home=tmp_path, VENTURI_HOEM="x", VENTURI_FOO="x")
    assert done.returncode == 0
    assert "VENTURI_HOEM is set and has no effect" in done.stderr
    assert "did you mean VENTURI_HOME?" in done.stderr
    assert "VENTURI_FOO is set and has no effect" in done.stderr
    of_tests = venturi("ls", home=tmp_path, VENTURI_TEST_PACKAGES="no")
    assert "warning" not in of_tests.stderr


def test_an_engine_by_its_other_name_is_understood_and_said(tmp_path: Path) -> None:
    done = venturi("run", "kmeans", "--engine", "hadoop:cluster", home=tmp_path)
    assert "hadoop:cluster stands for the engine mapreduce:cluster" in done.stderr
    assert (
        "did you mean mapreduce?" in venturi("run", "pi", "--engine", "hadop", home=tmp_path).stderr
    )


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("advise", "hardware", "--sort", "100"), "100TB"),
        (("simulate", "--sort", "1TB", "--on", "i2.8xlarge:9", "--deadline", "30"), "30min"),
    ],
)
def test_a_bare_number_is_asked_about(tmp_path: Path, words: tuple[str, ...], meant: str) -> None:
    done = venturi(*words, home=tmp_path)
    assert done.returncode == 2
    assert meant in done.stderr


def test_ctrl_c_in_a_finalizer_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    class Finalized:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    def verb(**_: object) -> int:
        Finalized()
        time.sleep(60)
        return 0

    monkeypatch.setattr(cli, "main", verb)
    with pytest.raises(SystemExit) as exited:
        main()
    assert exited.value.code == 130


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("run", "kmeans", "--engine", "spark", "--param", "itertions=3"), "mean iterations or"),
        (("run", "kmeans", "--engine", "spark", "--param", "k=few"), "k is: number of clusters"),
        (("run", "terasort", "--engine", "spark", "--set", "sprk.sql.x=3"), "mean spark.sql.x?"),
        (("catalog", "import", "skypilt", "x.csv", "-o", "c.csv"), "mean skypilot?"),
        (("ls", "--state", "fialed"), "mean failed or"),
    ],
)
def test_what_is_misspelt_is_guessed(tmp_path: Path, words: tuple[str, ...], meant: str) -> None:
    done = venturi(*words, home=tmp_path)
    assert done.returncode == 2
    assert meant in done.stderr
