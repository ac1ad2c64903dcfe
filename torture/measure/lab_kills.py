"""Labs that are made and taken down, killed at random instants."""

from __future__ import annotations

from pathlib import Path

from torture.measure.lab_remains import ADDRESSES, NAME, NEEDS, SMALL, id_of, left, remains
from torture.play import Play, Round, TortureCase, UnavailableError
from torture.verbs import VerbRunner
from venturi.core.settings import Settings
from venturi.measure.lab import lab


def play(round_: Play) -> None:
    """Kill `up` or `down` of a small lab at instants spread over its whole duration."""
    if NEEDS:
        raise UnavailableError("; ".join(NEEDS))
    home = round_.folder / "home"
    home.mkdir()
    settings = Settings(home=home, database_url=None, agent=None, allow_debug=True)
    file = round_.folder / "lab.toml"
    file.write_text(SMALL.replace("NAME", NAME).replace("ADDRESSES", ADDRESSES), "utf-8")
    with VerbRunner(round_.folder / "work") as verbs:
        whole_s = {}
        try:
            for words in (("up", file), ("down",)):
                assert verbs.learn(settings, "lab", *words).status == 0
            for words in (("up", file), ("down",)):
                whole_s[words[0]] = verbs.run(settings, "lab", *words).elapsed_s
            for case in round_.cases():
                with case:
                    _kill(case, verbs, settings, file, whole_s)
        finally:
            if lab.folder_of(home, NAME).exists():
                lab.down(home, NAME)


def _kill(
    case: TortureCase, verbs: VerbRunner, settings: Settings, file: Path, whole_s: dict[str, float]
) -> None:
    which = case.play.chance.choice(("up", "down"))
    delay_s = case.play.chance.uniform(0, 1.1 * whole_s[which])
    case.label = f"{which}, killed after {1000 * delay_s:.1f} ms"
    before = remains()
    if which == "down":
        made = verbs.run(settings, "lab", "up", file)
        assert made.status == 0, made.stderr
    ids = id_of(settings.home, NAME)
    words = (file,) if which == "up" else ()
    ran = verbs.run(settings, "lab", which, *words, kill_after_s=delay_s)
    assert ran.killed or ran.status == 0, ran.stderr
    ids |= id_of(settings.home, NAME)
    folder = lab.folder_of(settings.home, NAME)
    if folder.exists():
        ended = verbs.run(settings, "lab", "down", "--lab", NAME)
        assert ended.status == 0, ended.stderr
    found = left(before, ids)
    assert not found, f"left: {found}"
    assert not folder.exists()
    case.saw(f"{which} killed" if ran.killed else f"{which} done before")


ROUND = Round(
    name="lab-kills",
    question="A lab is killed at a random instant while it is made or taken down. Does `venturi "
    "lab down` leave nothing of it?",
    count=200,
    few=3,
    run=play,
)
