"""`venturi`: finds the requested verb and runs it, importing nothing else."""

from __future__ import annotations

import atexit
import gc
import importlib
import io
import json
import os
import re
import shutil
import signal
import sys
import threading
import time
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from venturi.core import settings
from venturi.core.errors import (
    FULL,
    MACHINE,
    NOT_PERMITTED,
    ExitCode,
    Interrupted,
    VenturiError,
    refused,
    starved,
)
from venturi.core.wording import near

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

VERBS = Path(__file__).with_name("verbs.json")
HELP = Path(__file__).with_name("help.json")
HELP_COLUMNS = 80  # at least so wide click makes it
# Old spelling -> the verb that took its place. They go with release 0.2.
RENAMED = {
    ("ingest",): ("import",),
    ("tiers", "jar"): ("engines", "jar", "tiered-storage"),
    ("tiers", "service-jar"): ("engines", "jar", "tiered-storage-service"),
    ("trace", "jar"): ("engines", "jar", "task-names"),
}
_OVER = threading.Event()  # set once the command has ended


class VerbGroup(click.Group):
    """The verbs, each imported when it is used. `scripts/verbs.py` finds them."""

    @cached_property
    def table(self) -> dict[str, dict[str, dict[str, str]]]:
        """Return `verbs` (name, module, help) and the `list` that `--help` prints."""
        return json.loads(VERBS.read_text(encoding="utf-8"))  # type: ignore[no-any-return]

    @property
    def verbs(self) -> dict[str, dict[str, str]]:
        """Return every verb's module and help by its name."""
        return self.table["verbs"]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse `help VERB` as `VERB --help`, and an old spelling as the verb it stands for."""
        if args[:1] == ["help"]:
            args = [*args[1:], "--help"]
        for old, new in RENAMED.items():
            if tuple(args[: len(old)]) == old:
                args = [*new, *args[len(old) :]]
                if not ctx.resilient_parsing:  # a shell completes
                    _warn_renamed(old, new)
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.verbs)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            if args[0] in self.verbs or args[0].startswith("-"):
                raise

            close = near(args[0], self.verbs)
            meant = f": did you mean {' or '.join(close)}?" if close else ""
            raise click.UsageError(f"there is no command {args[0]!r}{meant}", ctx) from error

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.verbs:
            return None
        module = importlib.import_module(f"venturi.cli.{self.verbs[cmd_name]['module']}")
        command = module.command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(len(words) for rows in self.table["list"].values() for words in rows)
        for heading, rows in self.table["list"].items():
            formatter.write_paragraph()
            formatter.write_text(heading)
            with formatter.indentation():
                formatter.write_dl([(words.ljust(width), text) for words, text in rows.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        # Not Group's own, which asks each command for its help, and so imports them all.
        verbs = [
            CompletionItem(name, help=verb["help"])
            for name, verb in self.verbs.items()
            if name.startswith(incomplete)
        ]
        return verbs + click.Command.shell_complete(self, ctx, incomplete)


@click.group(
    cls=VerbGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="`venturi help COMMAND` describes one command.",
)
@click.version_option(
    None, "-V", "--version", package_name="venturi", message="venturi %(version)s"
)
def cli() -> None:
    """Venturi measures machines, runs data-intensive workloads on them, finds the narrowest point,
    and prices the job elsewhere."""


def main() -> None:
    """Entry point: maps every outcome to its exit status."""
    _collect_seldom()
    as_json = "--json" in sys.argv
    signal.signal(signal.SIGTERM, _terminate)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:  # `nohup` has it ignored
        signal.signal(signal.SIGHUP, _terminate)
    _warn_of_settings()
    sys.unraisablehook = _not_lost
    _OVER.clear()
    try:
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.default_int_handler)  # see venturi/__main__.py
        if (text := _written_help(sys.argv)) is None:
            status = cli.main(standalone_mode=False)
        else:
            status = ExitCode.OK
            click.echo(text)
        sys.stdout.flush()
    except VenturiError as error:
        _near_file(error)
        _report(error, as_json)
        sys.exit(error.exit_code)
    except click.ClickException as error:
        error.show()
        if meant := _near_choice(error):
            click.echo(meant, err=True)
        sys.exit(ExitCode.USAGE)
    except (click.Abort, KeyboardInterrupt):
        _report(Interrupted(), as_json)
        sys.exit(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        # The reader had enough (`| head`); that is success. Keep Python from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(ExitCode.OK)
    except BaseException as error:
        if (refusal := _refused_by_system(error)) is None:
            raise
        _report(refusal, as_json)
        sys.exit(refusal.exit_code)
    finally:
        _OVER.set()
    sys.exit(status if isinstance(status, int) else ExitCode.OK)


def _refused_by_system(error: BaseException) -> VenturiError | None:
    """Convert `error` if it says that the system refused a resource; else return None.

    A library written in Rust panics if it gets no thread. Each such library has its own exception
    class, always with the same name, which no module exports.
    """
    if isinstance(error, OSError) and error.errno in FULL | MACHINE | NOT_PERMITTED:
        return refused(error)
    if type(error).__name__ != "PanicException":
        return None
    return starved(f"a library gave up: {error}")


class _LossyStream(io.FileIO):
    """A file that drops failed writes: its disk is full, or its reader has closed it."""

    def write(self, data: Any, /) -> int:
        with suppress(OSError):
            return super().write(data)
        return memoryview(data).nbytes

    def seekable(self) -> bool:
        return False  # else it would be asked where it is, which may fail


def program() -> NoReturn:
    """Run `main` as a separate process. Text that can't be written to stderr is lost; the work goes
    on.

    After Ctrl-C it exits immediately: if Ctrl-C interrupted the creation of a class, as during
    imports, Python would finally die of the signal, whatever the status.
    """
    if sys.__stderr__ is not None:  # it was not closed
        sys.stderr = io.TextIOWrapper(
            io.BufferedWriter(_LossyStream(sys.__stderr__.fileno(), "w", closefd=False), 1),
            encoding=sys.__stderr__.encoding,
            errors="backslashreplace",
            write_through=True,
        )
    try:
        main()
    except SystemExit as left:
        if left.code == ExitCode.INTERRUPTED:
            for stream in (sys.stdout, sys.stderr):
                with suppress(OSError):  # the reader has gone
                    stream.flush()
            os._exit(ExitCode.INTERRUPTED)
        raise
    sys.exit(ExitCode.OK)


def _written_help(argv: list[str]) -> str | None:
    """Return the requested help, as scripts/generated.py wrote it; no verb is loaded.

    None for other arguments, or if the terminal is narrower.
    """
    program, *words = argv
    if not words or Path(program).name != "venturi":
        return None
    if words[0] == "help":
        words = words[1:]
    elif words[-1] in cli.context_settings["help_option_names"]:
        words = words[:-1]
    else:
        return None
    if shutil.get_terminal_size().columns < HELP_COLUMNS:
        return None
    texts: dict[str, str] = json.loads(HELP.read_text(encoding="utf-8"))
    return texts.get(" ".join(words))


def _collect_seldom() -> None:
    """Run the garbage collector rarely.

    Imports create no cyclic garbage, and the process frees all memory at its end: collecting then
    took a quarter of the time of a short command.
    """
    gc.set_threshold(100_000)
    atexit.register(gc.freeze)


def _terminate(signum: int, frame: object) -> None:
    """SIGTERM is Ctrl-C from afar, SIGHUP a lost terminal: the same clean-up and exit status."""
    raise KeyboardInterrupt


def _warn_of_settings() -> None:
    """A misspelt setting would silently do nothing."""
    for name in settings.unknown(os.environ):
        prefix = "VENTURI_"  # all of them have it, so it carries no information
        known = (setting.variable.removeprefix(prefix) for setting in settings.SETTINGS)
        close = " or ".join(prefix + each for each in near(name.removeprefix(prefix), known))
        meant = f"; did you mean {close}?" if close else "; docs/reference/settings.md lists them"
        click.echo(
            f"warning[VEN-SETTING-UNKNOWN]: {name} is set and has no effect: Venturi has no such "
            f"setting{meant}",
            err=True,
        )


def _not_lost(unraisable: sys.UnraisableHookArgs) -> None:
    """Repeat a Ctrl-C that met a finalizer or a weak reference's callback, as imports have them.

    Python drops it there, and would drop the repetition, too, as long as this hook runs.
    """
    if not isinstance(unraisable.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)
        return
    returning = threading.Event()
    threading.Thread(target=_interrupt_again, args=(returning,), daemon=True).start()
    returning.set()


def _interrupt_again(returning: threading.Event) -> None:
    returning.wait()
    time.sleep(0.05)
    if not _OVER.is_set():  # after that it would change the status of a command that has ended
        os.kill(os.getpid(), signal.SIGINT)


def _near_file(error: VenturiError) -> None:
    """Add suggestions for a missing file or folder."""
    given = next((error.where[key] for key in ("file", "dir", "folder") if key in error.where), "")
    path = Path(str(given))
    try:
        if not given or path.exists() or not path.parent.is_dir():
            return

        close = near(path.name, (each.name for each in path.parent.iterdir()))
    except (OSError, ValueError):  # a name that no file can have, a folder that cannot be read
        return
    if close:
        meant = " or ".join(str(path.with_name(name)) for name in close)
        error.hint = f"did you mean {meant}?" + (f" Else {error.hint}" if error.hint else "")


def _warn_renamed(old: tuple[str, ...], new: tuple[str, ...]) -> None:
    click.echo(
        f"warning[VEN-VERB-RENAMED]: `venturi {' '.join(old)}` is now `venturi {' '.join(new)}`; "
        "the old spelling will be removed in the next release",
        err=True,
    )


def _near_choice(error: click.ClickException) -> str:
    """Which of the values that an option takes a misspelt one may have meant."""
    if not isinstance(error, click.BadParameter) or error.param is None:
        return ""
    given = re.match("'(.*)' is not one of ", error.message)
    if not given or not isinstance(error.param.type, click.Choice):
        return ""

    close = near(given[1], map(str, error.param.type.choices))
    return f"Did you mean {' or '.join(close)}?" if close else ""


def _report(error: VenturiError, as_json: bool) -> None:
    if as_json:
        from venturi.cli.options import json_text

        click.echo(json_text({"error": error.as_dict()}))
    click.echo(f"error[{error.code}]: {error.message}", err=True)
    for key, value in error.where.items():
        click.echo(f"  {key}: {value}", err=True)
    if error.hint:
        click.echo(f"  hint: {error.hint}", err=True)


if __name__ == "__main__":
    program()
