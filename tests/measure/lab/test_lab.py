"""Labs as they are: made whole or not at all, and gone after a kill at any instant."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

import pytest

from command_line import AGENT, PROGRAM, started, venturi
from torture.measure.lab_remains import (
    ADDRESSES,
    NAME,
    NEEDS,
    SMALL,
    id_of,
    inside,
    left,
    remains,
    small,
)
from venturi.core.errors import VenturiError
from venturi.measure.lab import journal, lab, loops, machine, steps
from venturi.measure.lab.journal import Heard

pytestmark = [pytest.mark.root, pytest.mark.skipif(bool(NEEDS), reason="; ".join(NEEDS))]
PLAYED_OF_KILLS = 7
"""One of so many instants is played here; the rounds of `torture` play random ones."""


class Labs:
    """A folder for labs, and the ids of those that were made there."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.ids: set[str] = set()
        self.before = remains()

    def up(self, spec: lab.LabSpec | None = None, heard: Heard = lambda *_: None) -> lab.Lab:
        made = lab.up(spec or small(), self.home, cores=2, agent=AGENT, heard=heard)
        self.note()
        return made

    def down(self, heard: Heard = lambda *_: None) -> None:
        lab.down(self.home, NAME, heard)

    def note(self) -> None:
        self.ids |= id_of(self.home, NAME)

    def left(self) -> list[str]:
        found = left(self.before, self.ids)
        folder = lab.folder_of(self.home, NAME)
        return [*found, str(folder)] if folder.exists() else found


@pytest.fixture
def labs(tmp_path: Path) -> Iterator[Labs]:
    """Labs of which nothing is left however the test ends."""
    made = Labs(tmp_path)
    yield made
    if lab.folder_of(tmp_path, NAME).exists():
        made.note()
        made.down()
    assert made.left() == []


def killed_at(instant: int, work: Callable[[Heard], object]) -> bool:
    """Whether `work`, in a process of its own, was killed at its so manieth instant."""
    child = os.fork()
    if child == 0:
        seen = 0

        def heard(kind: str, step: str) -> None:
            nonlocal seen
            seen += 1
            if seen == instant:
                os.kill(os.getpid(), signal.SIGKILL)

        with suppress(BaseException):
            work(heard)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def test_a_lab_is_what_its_file_says(labs: Labs) -> None:
    made = labs.up()
    assert (made.state, made.processes) == ("up", {"h1": 0})

    def say(command: str) -> str:
        done = inside(labs.home, NAME, "h1", "sh", "-c", command)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    assert say("uname -n; cat /etc/hostname") == "h1\nh1"
    assert say("ls /sys/class/net").split() == ["eth0", "lo"]
    assert "10.77" not in say("cat /etc/resolv.conf; true")
    assert say("ip -4 -o addr show eth0").split()[3] == f"{made.made.hosts[0].address}/24"
    assert "tbf" in say("tc qdisc show dev eth0")
    assert say("stat -f -c %T /venturi/ssd0") == "ext2/ext3"
    groups = say("cat /proc/self/cgroup").splitlines()
    (memory,) = (each for each in groups if ":memory:" in each)
    (blkio,) = (each for each in groups if ":blkio:" in each)
    assert memory.endswith("/h1")
    assert "venturi" not in blkio  # where limits of disks would not hold
    assert not Path("/venturi/ssd0").exists()  # this machine's own mounts are as they were


def test_this_machine_reaches_the_hosts_and_they_it(labs: Labs) -> None:
    made = labs.up()
    server = subprocess.Popen(
        [*lab.enter(labs.home, NAME, "h1"), "/usr/bin/env", "python3", "-m", "http.server", "8099"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        address = made.made.hosts[0].address
        until_s = time.monotonic() + 20
        while True:
            try:
                with socket.create_connection((address, 8099), 1) as connection:
                    assert connection.getsockname()[0] == made.made.machine_address
                break
            except ConnectionRefusedError:
                assert time.monotonic() < until_s
                time.sleep(0.1)
    finally:
        server.kill()
        server.wait()


def test_the_device_of_a_disk_has_the_limits_below_it_and_little_that_is_unwritten(
    labs: Labs,
) -> None:
    labs.up()
    device = inside(labs.home, NAME, "h1", "findmnt", "-no", "SOURCE", "/venturi/ssd0").stdout
    upper = Path("/sys/block") / Path(device.strip()).name
    assert (upper / "bdi/strict_limit").read_text().strip() == "1"
    # The bytes that it writes in 0.8 s; the kernel rounds to a share of the memory.
    assert int((upper / "bdi/max_bytes").read_text()) == pytest.approx(80e6, rel=0.01)
    lower = Path("/sys/block") / Path((upper / "loop/backing_file").read_text().strip()).name
    root = machine.blkio_root()
    assert root is not None
    numbers = {each: (each / "dev").read_text().strip() for each in (upper, lower)}
    limits = (root / "blkio.throttle.write_bps_device").read_text().split("\n")
    assert f"{numbers[lower]} 100000000" in limits
    assert not any(line.startswith(f"{numbers[upper]} ") for line in limits)


def test_a_second_one_of_the_name_is_refused_and_one_of_its_addresses(labs: Labs) -> None:
    labs.up()
    with pytest.raises(VenturiError) as refused:
        labs.up()
    assert refused.value.code == "VEN-LAB-UP"
    with pytest.raises(VenturiError) as refused:
        lab.up(small("other"), labs.home, cores=2)
    assert refused.value.code == "VEN-LAB-ADDRESS"
    assert lab.labs(labs.home) == (NAME,)


def test_a_lab_whose_file_names_no_addresses_has_the_first_that_are_free(labs: Labs) -> None:
    text = SMALL.replace('addresses = "ADDRESSES"\n', "")
    first = labs.up(small(text=text))
    other = lab.up(small(f"{NAME}-2", text=text), labs.home, cores=2)
    try:
        networks = [IPv4Network(each.spec.network) for each in (first, other)]
        assert networks[0] < networks[1]
        for made, network in zip((first, other), networks, strict=True):
            (host,) = made.made.hosts
            assert IPv4Address(host.address) in network
            assert host.address in made.cluster.read_text()
    finally:
        labs.ids |= id_of(labs.home, f"{NAME}-2")
        lab.down(labs.home, f"{NAME}-2")


def test_a_disk_larger_than_the_free_space_is_refused(labs: Labs) -> None:
    line = SMALL.splitlines().index('size = "64MiB"') + 1
    for size, disks in (("1000TiB", 1), (f"{shutil.disk_usage(labs.home).free // 4096}KiB", 64)):
        text = SMALL.replace("64MiB", size).replace("ssd = 1", f"ssd = {disks}")
        with pytest.raises(VenturiError) as refused:
            labs.up(small(text=text))
        assert refused.value.code == "VEN-LAB-SPACE"
        assert ("h1/ssd0" if disks == 1 else "64 disks") in refused.value.message
        assert refused.value.where["file"] == "lab.toml"
        assert str(refused.value.where[f"line {line}"]).startswith("disks.ssd.size: ")


def test_of_a_lab_that_cannot_be_made_whole_nothing_is_left(labs: Labs) -> None:
    with pytest.raises(VenturiError) as refused:
        labs.up(dataclasses.replace(small(), mtu=1))
    assert refused.value.code == "VEN-LAB-STEP"
    assert labs.left() == []


@pytest.mark.parametrize(
    ("images", "why"), [("file/x", "is not a folder"), ("a" * 300, "too long")]
)
def test_a_folder_for_disks_that_cannot_be_one_is_refused(
    labs: Labs, images: str, why: str
) -> None:
    (labs.home / "file").write_text("no folder")
    with pytest.raises(VenturiError, match=why) as refused:
        labs.up(dataclasses.replace(small(), images=labs.home / images))
    assert refused.value.code == "VEN-LAB-FILE"
    assert labs.left() == []


def test_after_a_kill_at_any_instant_of_up_down_leaves_nothing(labs: Labs) -> None:
    instant = 1
    while killed_at(instant, lambda heard: labs.up(heard=heard)):
        labs.note()
        assert lab.look(labs.home, NAME).state in {"half", "up"}
        labs.down()
        assert labs.left() == [], instant
        instant += PLAYED_OF_KILLS
    assert instant > 2 * PLAYED_OF_KILLS  # there were instants to be killed at
    labs.note()


def test_after_a_kill_at_any_instant_of_down_another_leaves_nothing(labs: Labs) -> None:
    instant = 2
    while True:
        labs.up()
        if not killed_at(instant, labs.down):
            break
        assert lab.look(labs.home, NAME).state == "half"
        labs.down()
        assert labs.left() == [], instant
        instant += PLAYED_OF_KILLS
    assert instant > 2 * PLAYED_OF_KILLS


def test_what_a_kill_cut_short_is_removed_by_the_next_up(labs: Labs) -> None:
    assert killed_at(20, lambda heard: labs.up(heard=heard))
    labs.note()
    assert labs.up().state == "up"
    labs.down()
    assert labs.left() == []


def test_after_a_new_start_of_the_machine_only_the_folder_is_removed(labs: Labs) -> None:
    """The processes that had the numbers in the journal are others' now."""
    made = labs.up()
    labs.down()
    bystander = subprocess.Popen(["sleep", "60"])
    try:
        folder = made.folder
        folder.mkdir(parents=True)
        about = {
            "lab": NAME,
            "id": "0" * 8,
            "boot": "another",
            "since": "",
            "spec": json.loads(lab._SPECS.dump_json(made.spec)),
            "made": json.loads(lab._SPECS.dump_json(made.made)),
        }
        written = journal.new(folder, about)
        entry = written.begin("holder", {"name": "h1", "host_name": "h1"})
        ticks = machine.started_ticks(bystander.pid)
        written.note(entry, {"pid": bystander.pid, "ticks": ticks})
        written.up()
        assert lab.look(labs.home, NAME).state == "gone"
        labs.down()
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


def test_what_is_in_a_host_ends_and_what_only_looks_like_the_labs_is_left_alone(
    labs: Labs, tmp_path: Path
) -> None:
    made = labs.up()
    image = tmp_path / "foreign.img"
    with image.open("wb") as file:
        file.truncate(2**20)
    number = loops.free_number()
    loops.attach(number, image, "venturi-lab-ffffffff/h1/ssd0")
    group = machine.controller("memory")
    assert group is not None
    foreign = group / f"venturi-lab-{'f' * 8}"
    foreign.mkdir()
    bystander = subprocess.Popen(["sleep", "60"])
    inhabitant = subprocess.Popen(
        [*lab.enter(labs.home, NAME, "h1"), "sh", "-c", "echo in; exec sleep 60"],
        stdout=subprocess.PIPE,
    )
    try:
        assert inhabitant.stdout is not None
        assert inhabitant.stdout.readline() == b"in\n"
        assert lab.look(labs.home, NAME).processes["h1"] == 1
        labs.down()
        assert inhabitant.wait(10) == -signal.SIGKILL
        assert bystander.poll() is None
        assert loops.attached(number) == "venturi-lab-ffffffff/h1/ssd0"
        assert foreign.exists()
    finally:
        for process in (bystander, inhabitant):
            process.kill()
            process.communicate()
        assert loops.detach(number, "venturi-lab-ffffffff/h1/ssd0")
        foreign.rmdir()
    assert made.name == NAME


def test_a_host_whose_namespaces_ended_is_named(labs: Labs) -> None:
    made = labs.up()
    written = journal.read(made.folder)
    assert written is not None
    (holder,) = (
        each.notes["pid"]
        for each in written.entries
        if each.kind == "holder" and each.asked["name"] == "h1"
    )
    machine.kill([holder])
    steps._wait_for_end([holder])
    found = lab.look(labs.home, NAME)
    assert (found.state, found.ended) == ("broken", ("h1",))
    with pytest.raises(VenturiError) as refused:
        lab.enter(labs.home, NAME, "h1")
    assert refused.value.code == "VEN-LAB-BROKEN"


TURNING = SMALL.replace(
    'rate = "100MB/s"\niops = 5000',
    'rate = "50MB/s"\nmodel = "spindle"\nseek = "8ms"\nrotation = "8.3ms"',
)
turns = pytest.mark.skipif(
    bool(subprocess.run([AGENT, "spindle", "--help"], capture_output=True, check=False).returncode),
    reason="the agent has no disks that turn",
)


@turns
def test_a_disk_that_turns_is_served_and_goes_with_its_server(labs: Labs) -> None:
    labs.up(small(text=TURNING))
    written = inside(
        labs.home,
        NAME,
        "h1",
        "dd",
        "if=/dev/urandom",
        "of=/venturi/ssd0/file",
        "bs=1M",
        "count=4",
        "oflag=direct",
    )
    assert written.returncode == 0, written.stderr
    assert "fuse" not in Path("/proc/self/mountinfo").read_text()
    found = journal.read(lab.folder_of(labs.home, NAME))
    assert found is not None
    (server,) = (each.notes["pid"] for each in found.entries if each.kind == "spindle")
    machine.kill([server])
    steps._wait_for_end([server])
    broken = lab.look(labs.home, NAME)
    assert (broken.state, broken.ended) == ("broken", ("the server of its spinning disks",))
    labs.down()
    assert labs.left() == []


@turns
def test_after_a_kill_no_server_of_disks_is_left(labs: Labs) -> None:
    events: list[str] = []
    labs.up(small(text=TURNING), heard=lambda instant, step: events.append(f"{instant} {step}"))
    labs.down()
    first = events.index("begun spindle server") + 1
    for instant in (first, first + 1, first + 3):
        assert killed_at(instant, lambda heard: labs.up(small(text=TURNING), heard))
        labs.note()
        labs.down()
        assert labs.left() == [], events[instant - 1]


def test_only_what_is_in_the_hosts_own_namespaces_is_in_the_host(labs: Labs) -> None:
    """Who is in one of them may otherwise be in the machine's, which all others are in, too."""
    made = labs.up()
    found = journal.read(made.folder)
    assert found is not None
    (holder,) = (
        each.notes["pid"]
        for each in found.entries
        if each.kind == "holder" and each.asked["name"] == "h1"
    )
    guest = subprocess.Popen(["nsenter", "-t", str(holder), "--mount", "sleep", "60"])
    try:
        while lab.look(labs.home, NAME).processes["h1"] != 1:
            assert guest.poll() is None
            time.sleep(0.02)
        # From elsewhere the machine's namespaces are not one's own.
        words = (*PROGRAM, "lab", "status", "--json")
        told = subprocess.run(
            ["unshare", "--uts", "--net", *words],
            env={**os.environ, "VENTURI_HOME": str(labs.home)},
            capture_output=True,
            text=True,
            check=True,
        )
        (data,) = json.loads(told.stdout)["data"]
        assert data["processes"] == {"h1": 1}
    finally:
        guest.kill()
        guest.wait()


def test_labs_that_are_made_at_once_have_addresses_of_their_own(labs: Labs, tmp_path: Path) -> None:
    text = "\n".join(line for line in SMALL.splitlines() if "addresses" not in line)
    names = (NAME, f"{NAME}-2")
    files = [tmp_path / f"{name}.toml" for name in names]
    for name, file in zip(names, files, strict=True):
        file.write_text(text.replace("NAME", name))
    try:
        making = [started("lab", "up", file, home=labs.home) for file in files]
        said = [each.communicate(timeout=60)[1] for each in making]
        assert [each.returncode for each in making] == [0, 0], said
        found = {lab.look(labs.home, name).made.network for name in names}
    finally:
        for name in names:
            labs.ids |= id_of(labs.home, name)
        if lab.folder_of(labs.home, names[1]).exists():
            lab.down(labs.home, names[1])
    assert len(found) == 2


def test_a_lab_goes_from_a_full_disk_on_which_its_journal_cannot_be_written(labs: Labs) -> None:
    made = labs.up()
    whole = (made.folder / journal.NAME).read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(journal.os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            journal.Journal(made.folder, {}).down()
        assert (made.folder / journal.NAME).read_bytes() == whole
        labs.down()
    assert labs.left() == []


def test_groups_that_a_program_made_in_a_host_go_with_it(labs: Labs) -> None:
    labs.up()
    own = inside(labs.home, NAME, "h1", "grep", ":memory:", "/proc/self/cgroup").stdout
    group = Path(f"{machine.controller('memory')}{own.strip().rpartition(':')[2]}")
    (group / "its" / "own").mkdir(parents=True)
    labs.down()
    assert labs.left() == []


@pytest.mark.parametrize("line", [b"[]", b'{"undone": 99}', b'{"note": 1}', b"5", b"{}"])
def test_a_line_of_the_journal_that_makes_no_sense_is_named(tmp_path: Path, line: bytes) -> None:
    journal.new(tmp_path, {"lab": "l"})
    with (tmp_path / journal.NAME).open("ab") as file:
        file.write(line + b"\n")
    with pytest.raises(VenturiError) as refused:
        journal.read(tmp_path)
    assert refused.value.code == "VEN-LAB-JOURNAL"
    assert refused.value.where["line"] == 2


POOLED = SMALL.replace(
    "[[hosts]]",
    '[disks.hdd]\nsize = "64MiB"\n[pools.all]\ndisks = ["ssd", "hdd"]\nfree = "40MB"\n[[hosts]]',
).replace("{ ssd = 1 }", '{ ssd = 1, hdd = 1 }\npools = ["all"]')


@pytest.mark.skipif(shutil.which("mergerfs") is None, reason="mergerfs is not installed")
def test_a_pool_fills_its_disks_in_order_within_the_memory_of_its_host(labs: Labs) -> None:
    made = labs.up(small(text=POOLED))
    assert made.processes == {"h1": 0}, "who serves the pool is the lab's own"
    fill = "cd /venturi/all0 && for n in 1 2 3 4; do dd if=/dev/zero of=$n bs=1M count=8; done"
    filled = inside(labs.home, NAME, "h1", "sh", "-c", f"{fill} && cd .. && ls ssd0/all0 hdd0/all0")
    assert filled.returncode == 0, filled.stderr
    on_hdd, on_ssd = filled.stdout.split("ssd0/all0:")
    assert ("1" in on_ssd, "4" in on_hdd) == (True, True)
    cached = inside(labs.home, NAME, "h1", "fincore", "-bnoRES", "/venturi/ssd0/all0/1")
    assert int(cached.stdout) == 8 << 20, (
        "what was closed is dropped, to be read from the disk again"
    )
    own = inside(labs.home, NAME, "h1", "grep", ":memory:", "/proc/self/cgroup").stdout
    group = f"{machine.controller('memory')}{own.strip().rpartition(':')[2]}"
    served_by = Path(group, "cgroup.procs").read_text().split()
    assert any("mergerfs" in Path(f"/proc/{pid}/cmdline").read_text() for pid in served_by)
    labs.down()
    assert labs.left() == []


@contextmanager
def _file(tmp_path: Path) -> Iterator[Path]:
    file = tmp_path / "lab.toml"
    file.write_text(SMALL.replace("NAME", NAME).replace("ADDRESSES", ADDRESSES))
    yield file


def test_the_verb(labs: Labs, tmp_path: Path) -> None:
    with _file(tmp_path) as file:
        up = venturi("lab", "up", file, home=labs.home)
    labs.note()
    assert up.returncode == 0, up.stderr
    assert "next: venturi lab exec h1 -- CMD" in up.stdout
    assert "5,000" in venturi("lab", "status", home=labs.home).stdout  # requests a second
    status = venturi("lab", "status", "--json", home=labs.home)
    (data,) = json.loads(status.stdout)["data"]
    assert (data["state"], data["processes"]) == ("up", {"h1": 0})
    (images,) = data["carried"]["images"]  # measured, in addition to the settings
    assert images["disks"] == ["h1/ssd0"]
    assert min(images["write_bytes_per_s"], images["read_bytes_per_s"]) > 0
    assert data["carried"]["memory_bytes_per_s"] > 0
    assert not list(Path(images["folder"]).glob("[!h]*"))  # its files are gone
    (tmp_path / "here").mkdir()
    done = started("lab", "exec", "h1", "--", "sh", "-c", "uname -n; exit 7", home=labs.home)
    assert done.communicate()[0] == "h1\n"
    assert done.returncode == 7
    strange = venturi("lab", "exec", "h9", "--", "true", home=labs.home)
    assert (strange.returncode, "its hosts are h1" in strange.stderr) == (2, True)
    at_work = started(
        "lab", "exec", "h1", "--", "sh", "-c", "echo in; exec sleep 60", home=labs.home
    )
    assert at_work.stdout is not None
    assert at_work.stdout.readline() == "in\n"
    used = venturi("lab", "down", home=labs.home)
    assert (used.returncode, "1 process running on its hosts" in used.stderr) == (1, True)
    at_work.kill()
    at_work.communicate()
    down = venturi("lab", "down", home=labs.home)
    assert (down.returncode, "nothing of it is left" in down.stdout) == (0, True)
    again = venturi("lab", "down", home=labs.home)
    assert (again.returncode, "VEN-LAB-UNKNOWN" in again.stderr) == (2, True)


def test_who_is_not_root_is_told_what_to_type(labs: Labs, tmp_path: Path) -> None:
    with _file(tmp_path) as file:
        labs.up()
        for words in (("up", file), ("exec", "h1", "--", "true"), ("down",)):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(os, "geteuid", lambda: 1000)
                refused = venturi("lab", *words, home=labs.home)
            assert (refused.returncode, "VEN-LAB-NEEDS" in refused.stderr) == (1, True)
            assert 'sudo -E env "PATH=$PATH" venturi lab' in refused.stderr


def test_what_is_not_installed_is_named_with_its_package(labs: Labs, tmp_path: Path) -> None:
    for name in ("ip", "tc", "nsenter", "unshare", "mount", "sleep"):
        (tmp_path / name).symlink_to("/bin/true")
    with _file(tmp_path) as file, pytest.MonkeyPatch.context() as patch:
        patch.setattr(machine, "programs_path", lambda: str(tmp_path))
        refused = venturi("lab", "up", file, home=labs.home)
    assert (refused.returncode, "VEN-LAB-NEEDS" in refused.stderr) == (1, True)
    assert "mkfs.ext4: not installed" in refused.stderr
    assert "apt install e2fsprogs" in refused.stderr
