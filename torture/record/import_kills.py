"""`venturi import` killed at random instants: a table of results, an archive with files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from torture.instants import Instants
from torture.play import Play, Round, TortureCase
from torture.record.stores import Store, Stores, write_archive
from torture.verbs import VerbRunner
from venturi.record.trial import Trial

_ROWS = 100
_TRIALS = 4
_HEAD = (
    "exp_name,exp_id,config_id,num_machines,time,num,machine_id,disk_id,disk_name,disk_count,"
    "disk_speed,disk_cost,disk_size,vm_id,vm_name,ram,cpu_count,vm_speed,vm_cost"
)
_ROW = "sort,9,1,10,{:.2f},{},1,1,ebs,2,slow,0.12,500.0,12,c4.2xlarge,15.0,8,fast,0.5"


def write_results(path: Path, rows: int) -> None:
    """A table in CherryPick's form."""
    lines = [_HEAD, *(_ROW.format(100 + number / 4, number) for number in range(rows))]
    path.write_text("\n".join(lines) + "\n")


def play(round_: Play) -> None:
    """Kill an import between its beginning and after its end: see `Instants`."""
    table, archive = round_.folder / "CP_sort.csv", round_.folder / "trials.zip"
    write_results(table, _ROWS)
    write_archive(archive, [f"arrived{number}" for number in range(_TRIALS)])
    stores = Stores(round_)
    wanted: dict[Path, dict[str, Trial]] = {}
    instants: dict[tuple[Path, str], Instants] = {}
    with VerbRunner(round_.folder / "work") as verbs:
        for source in (table, archive):
            for number, kind in enumerate(stores.kinds):
                with stores.one(number) as store:
                    verbs.learn(store.settings, "import", source)
                with stores.one(number) as store:
                    ran = verbs.run(store.settings, "import", source)
                    assert ran.status == 0, ran.stderr
                    instants[source, kind] = Instants(round_.chance, ran.elapsed_s)
                    wanted[source] = store.trials()
        for case in round_.cases():
            source = archive if case.number // len(stores.kinds) % 2 else table
            with stores.one(case.number) as store, case:
                key = source, store.kind
                delay_s = instants[key].draw_s()
                case.label = f"{source.name}, {store.kind}, killed after {1000 * delay_s:.1f} ms"
                found, took_s = _kill(case, verbs, store, source, wanted[source], delay_s)
                instants[key].learn(something=found > 0, took_s=took_s)


def _kill(
    case: TortureCase,
    verbs: VerbRunner,
    store: Store,
    source: Path,
    wanted: Mapping[str, Trial],
    delay_s: float,
) -> tuple[int, float | None]:
    """Return the number of stored trials, and the seconds of the import; None if it was killed."""
    ran = verbs.run(store.settings, "import", source, kill_after_s=delay_s)
    assert ran.killed or ran.status == 0, ran.stderr
    found = store.trials()
    assert found.items() <= wanted.items(), "there is what the source does not have"
    assert ran.killed or len(found) == len(wanted), "what it said was added is not there"
    if source.suffix == ".csv":
        assert len(found) in {0, len(wanted)}, "half a table"
    # Leftovers are found before the work is repeated as well as after it.
    first = case.play.chance.random() < 0.5
    left = store.mend() if first else 0
    again = verbs.run(store.settings, "import", source)
    assert again.status == 0, again.stderr
    left += store.mend()
    assert store.trials(tidy=True) == wanted, "the second import does not complete the first"
    store.export(case.play.folder / "export.zip")
    state = "none" if not found else "all" if len(found) == len(wanted) else "some"
    if ran.killed:
        case.saw(f"killed, {state} stored{', leftovers removed' if left else ''}")
    else:
        case.saw("done before")
    return len(found), None if ran.killed else ran.elapsed_s


ROUND = Round(
    name="import-kills",
    question="An import of a table or an archive is killed at a random instant. Is each accepted "
    "trial whole, is nothing else touched, and does a second import complete it?",
    count=1000,
    few=2,
    run=play,
)
