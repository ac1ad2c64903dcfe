"""The doctor's rules on the facts of several hosts."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor_facts import changed, tuned
from venturi.machines.health.doctor import DoctorRule, HostFinding, Severity, examine, load_rules

RULES = load_rules()
BY_ID = {rule.id: rule for rule in RULES}

# A trigger of each rule: path and value in the facts, then the evidence and a part of the fix.
FIRES: dict[str, tuple[str, Any, str, Any, str]] = {
    "swappiness": (
        "sysctls/vm.swappiness",
        "60",
        "sysctls.vm.swappiness",
        "60",
        "vm.swappiness = 1",
    ),
    "swap-in-use": ("swap_free_bytes", 2**30, "swap_used_bytes", 7 * 2**30, "free -b"),
    "thp-enabled": (
        "transparent_huge_pages",
        "always",
        "transparent_huge_pages",
        "always",
        "echo madvise",
    ),
    "thp-defrag": (
        "transparent_huge_pages_defrag",
        "always",
        "transparent_huge_pages_defrag",
        "always",
        "transparent_hugepage/defrag",
    ),
    "open-files": ("limit_open_files_soft", 1024, "limit_open_files_soft", 1024, "nofile 16384"),
    "processes": ("limit_processes_soft", 1000, "limit_processes_soft", 1000, "nproc 4096"),
    "mtu": (
        "network_interfaces/1/mtu_bytes",
        1500,
        "network_interfaces.eth0.mtu_bytes",
        1500,
        "every switch port, router and peer of eth0 accepts 9000 bytes",
    ),
    "socket-receive-buffer": (
        "sysctls/net.core.rmem_max",
        "212992",
        "sysctls.net.core.rmem_max",
        "212992",
        "4194304",
    ),
    "socket-send-buffer": (
        "sysctls/net.core.wmem_max",
        "212992",
        "sysctls.net.core.wmem_max",
        "212992",
        "4194304",
    ),
    "connection-backlog": (
        "sysctls/net.core.somaxconn",
        "128",
        "sysctls.net.core.somaxconn",
        "128",
        "4096",
    ),
    "file-system": (
        "file_systems/2/kind",
        "btrfs",
        "file_systems./data.kind",
        "btrfs",
        "copy its data elsewhere first",
    ),
    "noatime": (
        "file_systems/2/options",
        ["rw"],
        "file_systems./data.options",
        ["rw"],
        "noatime /data",
    ),
    "scheduler-nvme": (
        "block_devices/1/scheduler",
        "mq-deadline",
        "block_devices.nvme0n1.scheduler",
        "mq-deadline",
        "/sys/block/nvme0n1/",
    ),
    "scheduler": (
        "block_devices/0/scheduler",
        "bfq",
        "block_devices.sda.scheduler",
        "bfq",
        "/sys/block/sda/",
    ),
    "read-ahead": (
        "block_devices/0/read_ahead_bytes",
        131072,
        "block_devices.sda.read_ahead_bytes",
        131072,
        "/dev/sda",
    ),
    "dirty-ratio": ("sysctls/vm.dirty_ratio", "40", "dirty_percent", 40, "vm.dirty_ratio = 20"),
    "dirty-background-ratio": (
        "sysctls/vm.dirty_background_ratio",
        "15",
        "dirty_background_percent",
        15,
        "vm.dirty_background_ratio = 10",
    ),
    "governor": (
        "cpu_governors",
        ["performance", "powersave"],
        "cpu_governors",
        ["performance", "powersave"],
        "--governor performance",
    ),
    "numa-nodes": ("numa_nodes", 2, "numa_nodes", 2, "numactl"),
    "zone-reclaim": (
        "sysctls/vm.zone_reclaim_mode",
        "1",
        "sysctls.vm.zone_reclaim_mode",
        "1",
        "vm.zone_reclaim_mode = 0",
    ),
    "io-uring": (
        "sysctls/kernel.io_uring_disabled",
        "2",
        "sysctls.kernel.io_uring_disabled",
        "2",
        "io_uring_disabled to 0",
    ),
}


def found(facts: dict[str, Any], rule: str) -> list[HostFinding]:
    return [finding for finding in examine(facts, RULES) if finding.rule == rule]


def only(facts: dict[str, Any], rule: str) -> HostFinding:
    (finding,) = found(facts, rule)
    return finding


def test_a_tuned_worker_is_ok() -> None:
    findings = examine(tuned(), RULES)
    assert {finding.severity for finding in findings} == {Severity.OK}
    assert {finding.rule for finding in findings} == set(BY_ID)
    assert all(finding.fix is None for finding in findings)


@pytest.mark.parametrize("rule", FIRES)
def test_a_rule_fires_and_says_how_to_mend_it(rule: str) -> None:
    path, value, fact, evidence, fix = FIRES[rule]
    facts = changed(path, value)
    bad = [finding for finding in examine(facts, RULES) if finding.severity is not Severity.OK]
    assert [finding.rule for finding in bad] == [rule], "this rule and no other"
    (finding,) = bad
    assert finding.severity == BY_ID[rule].severity
    assert (finding.fact, finding.value) == (fact, evidence)
    assert finding.fix is not None
    assert fix in finding.fix
    assert "{" not in finding.fix


def test_numa_balancing_matters_only_with_several_nodes() -> None:
    facts = changed("sysctls/kernel.numa_balancing", "1")
    alone = only(facts, "numa-balancing")
    assert (alone.severity, alone.fact, alone.value) == (Severity.OK, "numa_nodes", 1)
    assert alone.reason == "there is one memory node"
    several = only({**facts, "numa_nodes": 2}, "numa-balancing")
    assert (several.severity, several.value) == (Severity.ADVICE, "1")
    unclear = only({**facts, "numa_nodes": None}, "numa-balancing")
    assert unclear.severity is Severity.UNKNOWN


def test_every_rule_has_a_case() -> None:
    assert {*FIRES, "numa-balancing"} == set(BY_ID)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_the_table_is_complete(rule: DoctorRule) -> None:
    for text in (rule.title, rule.checks, rule.effect, rule.source, rule.fix):
        assert text.strip() == text
        assert len(text) >= 3
    assert "," in rule.source, "a work and the place in it"
    assert rule.id == rule.id.lower()


def test_rule_ids_are_unique() -> None:
    assert len(BY_ID) == len(RULES)


@pytest.mark.parametrize(
    "changes",
    [
        {"threshold": 11},
        {"threshold": None},
        {"bounds": None},
        {"allowed": ("x",)},
        {"only": "disks"},
        {"fact": "block_devices[].scheduler"},
        {"test": "one_of"},
    ],
)
def test_a_rule_that_contradicts_itself_is_refused(changes: dict[str, Any]) -> None:
    good: dict[str, Any] = {
        "id": "x",
        "title": "x",
        "checks": "x",
        "fact": "x",
        "test": "at_most",
        "threshold": 1,
        "bounds": (0, 10),
        "severity": Severity.ADVICE,
        "effect": "x",
        "source": "x",
        "fix": "x",
    }
    DoctorRule(**good)
    with pytest.raises(ValueError, match="x: "):
        DoctorRule(**{**good, **changes})


def test_without_facts_nothing_is_ok() -> None:
    findings = examine({}, RULES)
    assert {finding.rule for finding in findings} == set(BY_ID)
    for finding in findings:
        assert finding.severity is Severity.UNKNOWN, finding
        assert finding.reason, finding
        assert finding.value is None
        assert finding.fix is None


def test_the_agents_reason_is_passed_on() -> None:
    facts = changed("cpu_governors", None)
    facts["missing"] = {"cpu_governors": "a hypervisor sets the frequency"}
    finding = only(facts, "governor")
    assert finding.severity is Severity.UNKNOWN
    assert finding.reason == "a hypervisor sets the frequency"
    facts["virtualisation"] = "kvm"
    finding = only(facts, "governor")
    assert finding.severity is Severity.UNKNOWN
    assert finding.reason == "can't tell in a virtual machine: its host sets this"
    facts = changed("network_interfaces/1/mtu_bytes", None)
    facts["missing"] = {"network_interfaces.eth0.mtu_bytes": "permission denied"}
    assert only(facts, "mtu").reason == "permission denied"


@pytest.mark.parametrize(
    ("path", "value", "rule"),
    [
        ("sysctls/vm.swappiness", "many", "swappiness"),
        ("sysctls", None, "zone-reclaim"),
        ("swap_free_bytes", 9 * 2**30, "swap-in-use"),  # more free than there is
        ("limit_open_files_soft", True, "open-files"),
        ("cpu_governors", [], "governor"),
        ("cpu_governors", ["performance", 3], "governor"),
        ("transparent_huge_pages", None, "thp-enabled"),
        ("file_systems", [], "file-system"),
        ("file_systems", "none", "noatime"),
        ("block_devices", [3], "scheduler-nvme"),
        ("network_interfaces/1/mtu_bytes", "wide", "mtu"),
        ("numa_nodes", None, "numa-nodes"),
    ],
)
def test_a_fact_that_tells_nothing_is_unknown(path: str, value: Any, rule: str) -> None:
    finding = only(changed(path, value), rule)
    assert finding.severity is Severity.UNKNOWN
    assert finding.reason


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.bounds and "[]" not in rule.fact])
def test_the_threshold_itself_is_ok_and_the_next_value_is_not(rule: DoctorRule) -> None:
    assert rule.threshold is not None
    step = 1 if rule.test == "at_most" else -1
    for value, severity in ((rule.threshold, "ok"), (rule.threshold + step, rule.severity)):
        facts = tuned()
        if rule.id == "swap-in-use":
            facts["swap_free_bytes"] = facts["swap_total_bytes"] - value
        elif rule.fact.startswith("sysctls."):
            facts["sysctls"][rule.fact.removeprefix("sysctls.")] = str(value)
        elif rule.id.startswith("dirty"):
            facts["sysctls"]["vm." + rule.id.replace("-", "_")] = str(value)
        else:
            facts[rule.fact] = value
        if rule.id == "numa-balancing":
            facts["numa_nodes"] = 2
        assert only(facts, rule.id).severity == severity, (rule.id, value)


def test_unlimited_is_no_problem_and_no_swap_makes_swappiness_moot() -> None:
    assert only(changed("limit_open_files_soft", "unlimited"), "open-files").severity == "ok"
    facts = changed("sysctls/vm.swappiness", "60")
    facts["swap_total_bytes"] = facts["swap_free_bytes"] = 0
    finding = only(facts, "swappiness")
    assert finding.severity is Severity.OK
    assert finding.reason == "there is no swap space"


def test_dirty_memory_may_be_limited_in_bytes() -> None:
    facts = changed("sysctls/vm.dirty_bytes", str(256 * 2**30))
    facts["sysctls"]["vm.dirty_ratio"] = "0"  # the kernel shows the one not in force as 0
    finding = only(facts, "dirty-ratio")
    assert (finding.severity, finding.value) == (Severity.ADVICE, 50.0)
    del facts["memory_total_bytes"]
    assert only(facts, "dirty-ratio").severity is Severity.UNKNOWN


@pytest.mark.parametrize(
    ("fact", "value"),
    [
        ("mtu_bytes", 1400),  # a tunnel is underneath
        ("speed_bits_per_s", None),
        ("speed_bits_per_s", 10**9),
        ("driver", "virtio_net"),
    ],
)
def test_jumbo_frames_are_not_advised_where_they_may_not_be_carried(fact: str, value: Any) -> None:
    facts = changed("network_interfaces/1/mtu_bytes", 1500)
    assert [finding.severity for finding in found(facts, "mtu")] == [Severity.ADVICE]
    facts["network_interfaces"][1][fact] = value
    assert [finding.severity for finding in found(facts, "mtu")] == [Severity.OK]


# Commands that may cut a host off, erase data or end processes if pasted into a root shell.
DANGEROUS = re.compile(r"\b(mkfs|ip link|ifconfig|swapoff|dd|rm|reboot|umount|fdisk|parted)\b")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_no_advice_is_a_command_that_can_do_harm(rule: DoctorRule) -> None:
    assert not DANGEROUS.search(rule.fix)
    # Words, that a shell would not run, wherever there is a risk.
    assert rule.risk is None or rule.fix[0].isupper()


def test_each_link_disk_and_file_system_has_its_own_finding() -> None:
    facts = changed("network_interfaces/2/state", "up")
    by_fact = {finding.fact: finding.severity for finding in found(facts, "mtu")}
    assert by_fact == {
        "network_interfaces.eth0.mtu_bytes": Severity.OK,
        "network_interfaces.eth1.mtu_bytes": Severity.ADVICE,
    }
    facts["file_systems"][0]["options"] = ["rw"]
    facts["file_systems"][2]["options"] = ["ro"]
    (finding,) = found(facts, "noatime")
    assert finding.fact == "file_systems./.options", "read-only and bind mounts do not matter"


def test_a_host_without_nvme_disks_is_told_so() -> None:
    facts = tuned()
    del facts["block_devices"][1]
    finding = only(facts, "scheduler-nvme")
    assert (finding.severity, finding.reason) == (Severity.OK, "there is no NVMe disk")


def test_a_hostile_name_stays_one_word_of_the_command() -> None:
    name = "/data; rm -rf /"
    facts = changed("file_systems/2/options", ["rw"])
    facts["file_systems"][2]["mount_point"] = name
    fix = found(facts, "noatime")[-1].fix
    assert fix is not None
    assert shlex.split(fix, comments=True) == ["mount", "-o", "remount,noatime", name]


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@settings(max_examples=60)
@given(st.sampled_from(sorted(tuned())), _JSON)
def test_no_facts_break_the_doctor(name: str, value: Any) -> None:
    findings = examine({**tuned(), name: value}, RULES)
    assert {finding.rule for finding in findings} == set(BY_ID)
    for finding in findings:
        assert (finding.severity is Severity.UNKNOWN) <= bool(finding.reason)
        assert (finding.fix is not None) == (
            finding.severity in {Severity.PROBLEM, Severity.ADVICE}
        )
