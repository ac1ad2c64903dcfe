"""A lab: made whole or not at all, looked at, entered, and taken down from whatever state."""

from __future__ import annotations

import json
import secrets
import shlex
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

from pydantic import TypeAdapter

from venturi.core import units
from venturi.core.errors import UsageError, VenturiError
from venturi.core.wording import count_of
from venturi.measure.hosts.agent import Agent
from venturi.measure.lab import journal, machine
from venturi.measure.lab.cluster_file import cluster_text
from venturi.measure.lab.lab_file import NAME
from venturi.measure.lab.lab_spec import LabDisk, LabHost, LabSpec, dilated
from venturi.measure.lab.machine_rates import (
    MachineRates,
    Shortfall,
    from_data,
    measured,
    shortfalls,
)
from venturi.measure.lab.network import hosts_file, with_free_addresses
from venturi.measure.lab.plan import KINDS, controllers, group_of, images_of, steps_of
from venturi.measure.lab.steps import (
    SERVER,
    SWITCHES,
    World,
    inhabitants,
    kill_all,
    require_free_addresses,
)
from venturi.record.access.owner import is_alive
from venturi.record.trial import Owner, now

CLUSTER = "cluster.toml"
_CARRIED = "carried.json"
_SPECS = TypeAdapter(LabSpec)
_ENTER = 'for group in {groups}; do echo $$ > "$group/cgroup.procs" || exit 125; done; exec "$@"'


@dataclass(frozen=True, slots=True)
class Lab:
    """A lab of this machine. `state`: `up`; `left`: up, but its owner has ended; `broken`: the
    parts in `ended` are gone; `half`: not completely made, or not completely taken down; `gone`:
    the machine has rebooted since.
    """

    name: str
    state: str
    spec: LabSpec
    """As its file describes it."""
    made: LabSpec
    """As it was made: dilated."""
    folder: Path
    since: str
    processes: Mapping[str, int | None]
    """Number of processes in each host; None: its namespaces are gone."""
    ended: tuple[str, ...] = ()
    """Its parts that have ended since: hosts, the switches, the server of spinning disks."""
    carried: MachineRates | None = None
    """This machine's own rates with the lab idle; None: not measured."""

    @property
    def shortfalls(self) -> tuple[Shortfall, ...]:
        """Return the lab's rates that exceed this machine's own."""
        return () if self.carried is None else tuple(shortfalls(self.made, self.carried))

    @property
    def cluster(self) -> Path:
        """Its cluster file."""
        return self.folder / CLUSTER


def folder_of(home: Path, name: str) -> Path:
    """The folder of the lab `name`."""
    return home / "labs" / name


def up(
    spec: LabSpec,
    home: Path,
    *,
    cores: int,
    agent: Path | None = None,
    owner: Owner | None = None,
    heard: journal.Heard = lambda instant, step: None,
) -> Lab:
    """Make the whole lab, or nothing; `agent` serves spinning disks. The lab stays up as long as
    `owner` lives, or without one until it is taken down.

    Remains of an earlier lab after a kill or reboot are removed first. VEN-LAB-UP if a lab with
    this name is up.
    """
    _require_machine(spec, cores)
    if agent is None and _models(spec) & {"spindle"}:
        raise VenturiError(
            "VEN-LAB-NEEDS",
            "disks of the model spindle need the agent, which is not installed",
            hint='set VENTURI_AGENT to its path, or write model = "throttle"',
        )
    home.mkdir(0o700, parents=True, exist_ok=True)  # as that of a new repository
    folder = folder_of(home, spec.name)
    with journal.locked(folder) as held, machine.choosing_addresses():
        if (old := journal.read(folder, mend=True)) is not None:
            _require_down(old, spec.name)
            _undo(old, held, heard)
        try:
            id = _id()
            used = [network for _, network in machine.networks_in_use(held=held)]
            spec = with_free_addresses(spec, used)
            made = dilated(spec, cores)
            _require_space(made, id, folder)
            require_free_addresses(made, held)
            _empty(folder)
            about = {
                "lab": spec.name,
                "id": id,
                "boot": journal.boot(),
                "owner": None if owner is None else asdict(owner),
                "since": now().isoformat(timespec="seconds"),
                "spec": _SPECS.dump_python(spec, mode="json"),
                "made": _SPECS.dump_python(made, mode="json"),
            }
            written = journal.new(folder, about)
        except BaseException:
            with suppress(OSError):
                folder.rmdir()
            raise
        try:
            _make(written, spec, agent, held, heard)
        except BaseException:
            _undo(written, held, heard)
            folder.rmdir()
            raise
    return look(home, spec.name)


def require(spec: LabSpec, home: Path, *, cores: int) -> None:
    """Check in advance whether `up` can make the lab: VEN-LAB-NEEDS, VEN-LAB-UP, VEN-LAB-SPACE."""
    _require_machine(spec, cores)
    folder = folder_of(home, spec.name)
    if (old := journal.read(folder)) is not None:
        _require_down(old, spec.name)
    _require_space(spec, "0" * 8, folder)


def _require_machine(spec: LabSpec, cores: int) -> None:
    models, hosts = _models(spec), dilated(spec, cores).hosts
    machine.require(
        disks=bool(models),
        throttle="throttle" in models,
        groups=any(controllers(host) for host in hosts),
        pools=any(host.pools for host in spec.hosts),
        memory_bytes=max(host.memory_bytes or 0 for host in hosts),
        cpus=max(host.cpus or 0.0 for host in hosts),
    )


def _models(spec: LabSpec) -> set[str]:
    return {disk.model for host in spec.hosts for disk in host.disks}


def _require_down(written: journal.Journal, name: str) -> None:
    if _state(written) == "up":
        raise UsageError(
            "VEN-LAB-UP",
            f"the lab {name} is already up",
            where={"folder": str(written.folder)},
            hint=f"`venturi lab down --lab {name}` takes it down; use another name in the file "
            "for a second lab",
        )


def sweep(home: Path, name: str, heard: journal.Heard = lambda instant, step: None) -> bool:
    """Take down the lab `name` if its owner has ended; return whether it was so."""
    try:
        _, written = _written(home, name)
    except VenturiError:
        return False
    if not _left_behind(written):
        return False
    down(home, name, heard)
    return True


def _left_behind(written: journal.Journal) -> bool:
    owner = written.about.get("owner")
    return owner is not None and not is_alive(Owner(**owner))


def weigh(home: Path, name: str, agent: Agent) -> Lab:
    """Measure this machine's own rates while the lab is up, and keep them with the lab."""
    folder, written = _written(home, name)
    made = _SPECS.validate_python(written.about["made"])
    carried = measured(agent, made, written.about["id"], folder)
    (folder / _CARRIED).write_text(json.dumps(asdict(carried)), encoding="utf-8")
    return look(home, name)


def down(home: Path, name: str, heard: journal.Heard = lambda instant, step: None) -> None:
    """Remove everything of a lab. VEN-LAB-UNKNOWN if it doesn't exist; VEN-LAB-BUSY names a part
    that is in use, after everything else has been removed.
    """
    folder = _require_folder(home, name)
    machine.require(disks=False, throttle=False, groups=False)
    with journal.locked(folder) as held:
        if (written := journal.read(folder, mend=True)) is not None:
            _undo(written, held, heard)
        _empty(folder)
        folder.rmdir()


def look(home: Path, name: str) -> Lab:
    """Return a lab's current state; VEN-LAB-UNKNOWN if it doesn't exist."""
    folder, written = _written(home, name)
    spec, made = (_SPECS.validate_python(written.about[key]) for key in ("spec", "made"))
    world = _world(written, made, held=-1)
    processes = {
        # Don't count the holder of its namespaces and the servers of its pools.
        host.name: max(0, len(inhabitants(world, host.name)) - 1 - len(host.pools))
        if _alive(written, world, host.name)
        else None
        for host in made.hosts
    }
    try:
        carried = from_data(json.loads((folder / _CARRIED).read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError):  # not measured, or killed while measuring
        carried = None
    state = _state(written)
    ended = _ended(written) if state == "broken" else ()
    return Lab(name, state, spec, made, folder, written.about["since"], processes, ended, carried)


def cluster_file(home: Path, name: str) -> Path:
    """Return the file of a lab's cluster, which exists once it is up; VEN-LAB-UNKNOWN without a
    lab.
    """
    return _written(home, name)[0] / CLUSTER


def _written(home: Path, name: str) -> tuple[Path, journal.Journal]:
    folder = _require_folder(home, name)
    try:
        written = journal.read(folder)
    except PermissionError:
        machine.require(disks=False, throttle=False, groups=False)
        raise
    if written is None:
        raise _unknown(home, name)
    return folder, written


def _alive(written: journal.Journal, world: World, host: str) -> bool:
    try:
        return written.same_boot and world.holder(host).alive
    except KeyError:
        return False


def labs(home: Path) -> tuple[str, ...]:
    """The names of the labs of this machine."""
    try:
        folders = sorted((home / "labs").iterdir())
        return tuple(each.name for each in folders if (each / journal.NAME).exists())
    except FileNotFoundError:
        return ()
    except PermissionError:
        machine.require(disks=False, throttle=False, groups=False)
        raise


def only(home: Path) -> str:
    """Return the name of the only lab; VEN-LAB-UNKNOWN if there are no labs, or several."""
    found = labs(home)
    if len(found) == 1:
        return found[0]
    what = f"there are several labs: {', '.join(found)}" if found else "there is no lab"
    hint = "choose one with --lab NAME" if found else "`venturi lab up LAB.toml` creates one"
    raise UsageError("VEN-LAB-UNKNOWN", what, hint=hint)


def require_unused(home: Path, name: str) -> None:
    """VEN-LAB-BUSY if the lab was made for a process that is still at work, or something runs in
    its hosts.
    """
    written = journal.read(folder_of(home, name))
    owner = None if written is None else written.about.get("owner")
    if owner is not None and is_alive(Owner(**owner)):
        raise VenturiError(
            "VEN-LAB-BUSY",
            f"the lab {name} is in use: a plan made it and is running (process {owner['pid']})",
            hint=f"the plan takes it down after its trials; `venturi lab down --lab {name}` takes "
            "it down now, and the running trial fails",
        )
    if written is not None and (count := sum(n or 0 for n in look(home, name).processes.values())):
        raise VenturiError(
            "VEN-LAB-BUSY",
            f"the lab {name} is in use: {count_of(count, 'process', 'processes')} running on "
            "its hosts",
            hint=f"`venturi lab down --lab {name}` ends them, and a running trial fails",
        )


def enter(home: Path, name: str, host: str) -> tuple[str, ...]:
    """Return the prefix that runs a command in a host of a lab, in its namespaces and groups. The
    command stays out of the blkio groups, in which the disks' limits wouldn't apply.
    """
    _, written = _written(home, name)
    made = _SPECS.validate_python(written.about["made"])
    world = _world(written, made, held=-1)
    found = next((each for each in made.hosts if each.name == host), None)
    if found is None:
        known = ", ".join(each.name for each in made.hosts)
        raise UsageError(
            "VEN-LAB-UNKNOWN",
            f"the lab {name} has no host {host!r}",
            hint=f"its hosts are {known}",
        )
    state = _state(written)
    if state not in {"up", "left", "broken"} or not _alive(written, world, host):
        raise VenturiError(
            "VEN-LAB-BROKEN",
            f"the host {host} of the lab {name} is gone ({_WHY[state]})",
            hint=f"run `venturi lab down --lab {name}`, then `venturi lab up`",
        )
    machine.require(disks=False, throttle=False, groups=False)
    pid = world.holder(host).pid
    into = ("nsenter", "-t", str(pid), "--net", "--uts", "--mount", "--")
    if not (groups := _groups(found, written.about["id"])):
        return into
    script = _ENTER.format(groups=" ".join(shlex.quote(str(each)) for each in groups))
    return ("sh", "-c", script, "sh", *into)


_WHY = {
    "up": "its namespaces ended",
    "left": "its namespaces ended",
    "broken": "its namespaces ended",
    "half": "the lab was not completed",
    "gone": "the machine has rebooted since",
}


def _groups(host: LabHost, id: str) -> list[Path]:
    roots = ((name, machine.controller(name)) for name in controllers(host))
    return [group_of(root, id, host.name) for _, root in roots if root is not None]


def _make(
    written: journal.Journal, spec: LabSpec, agent: Path | None, held: int, heard: journal.Heard
) -> None:
    world = _world(written, _SPECS.validate_python(written.about["made"]), held)
    roots = {name: root for name in ("memory", "cpu") if (root := machine.controller(name))}
    _write_etc(world)
    for step in steps_of(world.spec, world.id, written.folder, roots, agent):
        what = f"{step.kind} {step.key}"
        try:
            entry = written.begin(step.kind, asdict(step))  # type: ignore[call-overload]
            heard("begun", what)
            world = replace(world, notes={**world.notes, what: entry.notes})
            step.do(world, partial(written.note, entry))
        except OSError as error:
            raise VenturiError(
                "VEN-LAB-STEP",
                f"{what}: {error.strerror or error}",
                where={"lab": spec.name, "folder": str(written.folder)},
            ) from error
        heard("done", what)
    text = cluster_text(spec, world.spec)
    (written.folder / CLUSTER).write_text(text, encoding="utf-8")
    written.up()
    heard("ended", "up")


def _undo(written: journal.Journal, held: int, heard: journal.Heard) -> None:
    """Undo every step that is left, the last one first; the lab's folder is empty then.

    VEN-LAB-BUSY if something is in use; the rest is undone. On a full disk, steps are undone
    without a record, because undoing may be repeated.
    """
    if written.is_up:
        with suppress(OSError):
            written.down()
        heard("begun", "down")
    world = _world(written, _SPECS.validate_python(written.about["made"]), held)
    left = []
    # Limits first: under them, writing the remaining data would take too long. Spinning disks have
    # as long as a host's processes may take to end, then their server ends.
    for wanted in ("throttle", "holder", "spindle", None):
        if wanted == "holder":
            kill_all(world)
        for entry in reversed(written.entries):
            if entry.undone or (wanted is not None and entry.kind != wanted):
                continue
            step = KINDS[entry.kind](**entry.asked)
            what = f"{step.kind} {step.key}"
            if (number := entry.notes.get("number")) is not None:
                what = f"{what} (/dev/loop{number})"
            try:
                gone = step.undo(world, entry.notes)
            except (OSError, VenturiError) as error:
                gone = False
                what = f"{what} ({error})"
            heard("done", what)
            if gone:
                with suppress(OSError):
                    written.undo(entry)
                heard("ended", what)
            elif wanted is None:
                left.append(what)
    if left:
        raise VenturiError(
            "VEN-LAB-BUSY",
            f"not all of the lab {written.about['lab']} could be removed: {'; '.join(left)}",
            where={"folder": str(written.folder)},
            hint="end the processes that use it (`fuser -vm DEVICE` lists them), then run "
            "`venturi lab down` again",
        )
    _empty(written.folder)


def _world(written: journal.Journal, made: LabSpec, held: int) -> World:
    notes = {}
    for entry in written.entries:
        if not entry.undone:
            step = KINDS[entry.kind](**entry.asked)
            notes[f"{step.kind} {step.key}"] = entry.notes
    return World(made, written.about["id"], written.folder, held, notes, written.same_boot)


def _state(written: journal.Journal) -> str:
    if not written.same_boot:
        return "gone"
    if not written.is_up:
        return "half"
    if _ended(written):
        return "broken"
    return "left" if _left_behind(written) else "up"


def _ended(written: journal.Journal) -> tuple[str, ...]:
    """Return the parts that have ended of a lab completed in this boot; of other labs, nothing."""
    if not (written.same_boot and written.is_up):
        return ()
    world = _world(written, _SPECS.validate_python(written.about["made"]), held=-1)
    needed = {f"holder {host.name}": host.name for host in world.spec.hosts}
    needed[f"holder {SWITCHES}"] = "the switches"
    if SERVER in world.notes:
        needed[SERVER] = "the server of its spinning disks"
    return tuple(said for key, said in needed.items() if not world.process(key).alive)


def _write_etc(world: World) -> None:
    """The files that every host sees in /etc instead of the machine's."""
    for host in world.spec.hosts:
        folder = world.folder / "etc" / host.name
        folder.mkdir(parents=True)
        for name, text in (
            ("hosts", hosts_file(world.spec)),
            ("hostname", f"{host.name}\n"),
            ("nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"),
            ("resolv.conf", ""),
        ):
            (folder / name).write_text(text)
            (folder / name).chmod(0o644)


def _require_space(spec: LabSpec, id: str, folder: Path) -> None:
    """Raise VEN-LAB-SPACE if the disks exceed the free space at the place of their files."""
    needed: dict[Path, list[tuple[LabHost, LabDisk]]] = {}
    for host in spec.hosts:
        place = _nearest(images_of(spec, host, id, folder).parent)
        disks = needed.setdefault(place, [])
        disks += [(host, disk) for disk in host.disks]
    by_device: dict[int, list[tuple[Path, list[tuple[LabHost, LabDisk]]]]] = {}
    for place, disks in needed.items():
        by_device.setdefault(place.stat().st_dev, []).append((place, disks))
    for places in by_device.values():
        place = places[0][0]
        free = shutil.disk_usage(place).free
        disks = [disk for _, each in places for disk in each]
        total = sum(disk.size_bytes for _, disk in disks)
        if total <= free:
            continue
        host, largest = max(disks, key=lambda each: each[1].size_bytes)
        if largest.size_bytes > free:
            size = units.size_text(largest.size_bytes)
            what, wrong = f"the disk {host.name}/{largest.name} of {size} is larger", [largest]
        else:
            wrong = [disk for _, disk in disks]
            what = f"the {len(disks)} disks of the lab, {units.size_text(total)}, are larger"
        raise VenturiError(
            "VEN-LAB-SPACE",
            f"{what} than the free space in {place}: {units.format_bytes_decimal(free)}",
            where={**_in_file(spec, wrong), "folder": str(place)},
            hint="make them smaller, or set a folder on a larger disk with images = FOLDER",
        )


def _in_file(spec: LabSpec, disks: Sequence[LabDisk]) -> dict[str, str]:
    """Where the file of a lab has the sizes of these disks."""
    sizes = {disk.disk_class: units.size_text(disk.size_bytes) for disk in disks}
    lines = {
        f"line {spec.size_lines[name]}": f"disks.{name}.size: {size}"
        for name, size in sizes.items()
        if name in spec.size_lines
    }
    return {"file": str(spec.file), **lines} if lines else {}


def _nearest(place: Path) -> Path:
    """The folder that `place` is, or will be made in; VEN-LAB-FILE if it can be in none."""
    try:
        nearest = next(each for each in (place, *place.parents) if each.exists())
        if nearest.is_dir():
            return nearest
        why = f"{nearest} is not a folder"
    except OSError as error:
        why = str(error.strerror)
    raise UsageError(
        "VEN-LAB-FILE",
        f"the disk files cannot be stored in {place}: {why}",
        where={"key": "images"},
        hint="set another folder with images = FOLDER",
    )


def _id() -> str:
    """Eight digits that nothing on this machine has in its name."""
    while True:
        id = secrets.token_hex(4)
        if f"vl{id}" not in machine.links():
            return id


def _require_folder(home: Path, name: str) -> Path:
    folder = folder_of(home, name)
    if not NAME.fullmatch(name) or not folder.is_dir():
        raise _unknown(home, name)
    return folder


def _unknown(home: Path, name: str) -> VenturiError:
    found = labs(home)
    hint = f"there is {', '.join(found)}" if found else "`venturi lab up LAB.toml` creates one"
    return UsageError("VEN-LAB-UNKNOWN", f"there is no lab {name!r}", hint=hint)


def _empty(folder: Path) -> None:
    """Remove the content of a lab's folder, its journal last."""
    last = folder / journal.NAME
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path != last:
            path.unlink()
    last.unlink(missing_ok=True)
