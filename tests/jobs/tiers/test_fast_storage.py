"""The time of a job by its fast local storage."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from venturi.core.errors import VenturiError
from venturi.core.quantity import Quantity, ValueKind
from venturi.jobs.tiers.fast_storage import DiskClassRates, FastStorage, Requests, missing_rates
from venturi.jobs.tiers.local_bytes import JobLoad, StageLoad, TransferredBytes

GB = 1e9


def quantity(value: float, low: float = 1.0, high: float = 1.0) -> Quantity:
    return Quantity(value, value * low, value * high, ValueKind.MEASURED, "a test")


def disks(rate: float, shuffle: float, low: float = 1.0, high: float = 1.0) -> DiskClassRates:
    each = quantity(rate, low, high)
    return DiskClassRates(each, each, shuffle=quantity(shuffle, low, high))


FAST, SLOW = disks(500e6, 500e6), disks(125e6, 50e6)


def sort(fast: float = 0.0, spilled: float = 0.0, **more: float) -> JobLoad:
    """A sort of 10 GB on slow disks: 100 s of maps (20 s of them computing), 240 s of reduces (40 s
    computing), 10 s of the driver.
    """
    written, read = (
        TransferredBytes(10 * GB, 0, fast, fast),
        TransferredBytes(0, 10 * GB, fast, fast),
    )
    spill = TransferredBytes(spilled, spilled, fast, fast)
    maps = StageLoad(
        (0, 0),
        "0",
        100,
        100,
        20,
        shuffle=written,
        spill=spill,
        spill_at_once_bytes=spilled / 4,
        from_disk=1.0,
        write_wait_s=80,
    )
    reduces = StageLoad((1, 0), "1", 240, 240, 40, shuffle=read, parents=((0, 0),), from_disk=1.0)
    return JobLoad(350 + more.get("longer_s", 0), 1, 2, (maps, reduces))


@pytest.mark.parametrize(
    ("fast_gb", "time_s"),
    [
        (0, 350),
        (10, 10 + (20 + 20) + (40 + 20)),
        # Written first to the one and then to the other; every reduce reads of both.
        (5, 10 + (20 + 10 + 40) + (40 + 100)),
        (99, 110),
    ],
)
def test_times_of_a_sort_by_hand(fast_gb: float, time_s: float) -> None:
    found = FastStorage(sort(), FAST, SLOW).time_s(fast_gb * GB)
    assert (found.value, found.low, found.high) == pytest.approx((time_s,) * 3)


def test_what_was_hidden_behind_computing_stays_so() -> None:
    """80 s of writing and 60 of computing in 100 s: 40 of them overlap."""
    stage = StageLoad((0, 0), "0", 100, 100, 60, shuffle=TransferredBytes(10 * GB), write_wait_s=80)
    found = FastStorage(JobLoad(100, 1, 2, (stage,)), FAST, SLOW).time_s(10 * GB)
    assert found.value == pytest.approx(60 + 20 * (1 - 40 / 60))
    assert found.low == pytest.approx(60)  # or only what did not show was hidden
    assert found.high == found.value


def test_rates_that_say_more_than_the_trial_took_are_cut_to_it() -> None:
    """Half of the written data was still in memory when the stage ended."""
    stage = StageLoad((0, 0), "0", 40, 40, 4, shuffle=TransferredBytes(10 * GB), from_disk=1.0)
    storage = FastStorage(JobLoad(40, 1, 2, (stage,)), FAST, SLOW)
    assert storage.time_s(0).value == pytest.approx(40)
    assert storage.time_s(10 * GB).value == pytest.approx(10)


def written(waited_s: float, to_disk: float | None = None) -> JobLoad:
    """10 GB on fast disks, which take 20 s, and 20 s of computing."""
    stage = StageLoad(
        (0, 0),
        "0",
        40,
        40,
        20,
        shuffle=TransferredBytes(10 * GB, 0, 1.0, 1.0),
        write_wait_s=waited_s,
        to_disk=to_disk,
    )
    return JobLoad(40, 1, 2, (stage,))


@pytest.mark.parametrize(
    ("waited_s", "to_disk", "value_s", "low_s"),
    [
        (20, None, 20 + 80, 100),
        (0, None, 20 + 80, 40),  # the kernel may have written all of it later
        (5, None, 20 + 80, 15 + 20 + 20),
        (0, 0.5, 10 + 20 + 40, 40),  # half of it was on the disks when the stage ended
    ],
)
def test_what_the_kernel_writes_behind_a_stage_takes_none_of_its_time(
    waited_s: float, to_disk: float | None, value_s: float, low_s: float
) -> None:
    found = FastStorage(written(waited_s, to_disk), FAST, SLOW).time_s(0)
    assert (found.value, found.low) == pytest.approx((value_s, low_s))
    assert found.high == pytest.approx(100)


def test_spills_give_their_room_back_and_what_stays_does_not() -> None:
    job = sort(spilled=8 * GB)
    assert job.all_bytes == 12 * GB
    storage = FastStorage(job, FAST, SLOW)
    # 2 GB hold the spills of a wave, and nothing that stays. 208 s of disks took 100.
    saved = storage.saved_s(0, 2 * GB)
    assert saved.value == pytest.approx(100 - 100 * (80 + 16 + 16) / (80 + 64 + 64))
    assert storage.time_s(12 * GB).value < storage.time_s(11 * GB).value


def test_the_knee_is_where_more_saves_much_less() -> None:
    reading = StageLoad(
        (1, 0), "1", 240, 240, 40, shuffle=TransferredBytes(0, 10 * GB), from_disk=1.0
    )
    # Disks of half the speed: from half on, the fast ones are the slower ones of the two.
    job = JobLoad(
        240, 1, 2, (StageLoad((0, 0), "0", 1, 0, 1, shuffle=TransferredBytes(10 * GB)), reading)
    )
    fast = disks(500e6, 100e6)
    assert FastStorage(job, fast, SLOW).knee_bytes() == pytest.approx(5 * GB, rel=0.05)
    assert FastStorage(job, disks(500e6, 1000e6), SLOW).knee_bytes() is None


def test_random_reads_lie_between_the_sizes_that_were_measured() -> None:
    rates = DiskClassRates(
        quantity(100e6),
        requests=(Requests(4096, quantity(200)), Requests(1 << 20, quantity(50))),
        read_ahead_bytes=128 << 10,
    )
    small = rates.shuffle_read(38_000)
    assert small is not None
    middle, low, high = small
    assert low < middle < high
    fetched = 38_000 + 131_072
    assert fetched / middle == pytest.approx(
        1 / 200 + (1 / 50 - 1 / 200) * (fetched - 4096) / 1044480
    )
    more = replace(rates, read_ahead_bytes=512 << 10).shuffle_read(38_000)
    assert more is not None
    assert more[0] > middle
    assert replace(rates, read_ahead_bytes=4 << 20).shuffle_read(38_000) == more
    assert high == 100e6  # a disk with one map output is read from its beginning to its end
    assert 38_000 / low == pytest.approx(1 / 200 + (1 / 50 - 1 / 200) * (38_000 - 4096) / 1044480)
    large = rates.shuffle_read(100e6)
    assert large is not None
    assert large[0] == pytest.approx(100e6, rel=0.02)
    assert rates.shuffle_read(100) is not None
    assert DiskClassRates(quantity(1.0)).shuffle_read(100) is None


def test_what_is_not_known_and_needed_is_named() -> None:
    assert missing_rates(sort(), DiskClassRates()) == ("write", "random reads")
    assert missing_rates(sort(spilled=1), DiskClassRates()) == ("write", "read", "random reads")
    assert missing_rates(sort(), SLOW) == ()


def test_what_is_called_fast_must_be_faster() -> None:
    with pytest.raises(VenturiError, match="are slower than the slow ones at writing") as raised:
        FastStorage(sort(), SLOW, FAST)
    assert raised.value.code == "VEN-MODEL-INPUT"


sizes = st.integers(0, round(50 * GB)).map(float)  # of parts of a byte a sum of floats loses some
shares = st.floats(0, 1)
seconds = st.floats(0.001, 1000)


@st.composite
def loads(draw: st.DrawFn) -> JobLoad:
    stages: list[StageLoad] = []
    for number in range(draw(st.integers(1, 4))):
        elapsed_s = draw(seconds)
        earlier = [stage.key for stage in stages]
        moved = [
            TransferredBytes(draw(sizes), draw(sizes), draw(shares), draw(shares)) for _ in range(3)
        ]
        stages.append(
            StageLoad(
                (number, 0),
                str(number),
                elapsed_s,
                elapsed_s * draw(shares),
                elapsed_s * draw(shares),
                *moved,
                spill_at_once_bytes=float(draw(st.integers(0, round(moved[1].written_bytes)))),
                parents=tuple(draw(st.lists(st.sampled_from(earlier), unique=True)))
                if earlier
                else (),
                from_disk=draw(st.none() | shares),
            )
        )
    return JobLoad(sum(stage.path_s for stage in stages) + draw(seconds), 1, 2, tuple(stages))


@given(loads(), sizes, sizes, st.floats(1, 20), st.floats(0.5, 1), st.floats(1, 2))
def test_more_fast_storage_is_never_slower(
    load: JobLoad, one: float, other: float, faster: float, low: float, high: float
) -> None:
    slow = disks(100e6, 20e6, low, high)
    storage = FastStorage(load, disks(faster * 100e6, faster * 20e6, low, high), slow)
    less, more = (storage.time_s(size) for size in sorted((one, other)))
    for name in ("value", "low", "high"):
        assert getattr(more, name) <= getattr(less, name) * (1 + 1e-9)
    assert less.low <= less.value <= less.high
    assert min(storage.saved_s(one, other).low, storage.saved_s(0, one).low) >= 0


@given(loads(), st.floats(1, 20))
def test_all_that_fits_is_as_all_fast_and_none_as_all_slow(load: JobLoad, faster: float) -> None:
    slow, fast = disks(100e6, 20e6), disks(faster * 100e6, faster * 20e6)
    storage = FastStorage(load, fast, slow)
    enough = storage.time_s(load.all_bytes or 1.0).value
    assert storage.time_s(1e18).value == pytest.approx(enough)
    # Where both are as fast, it does not matter where files lie.
    assert FastStorage(load, fast, fast).time_s(0).value == pytest.approx(load.elapsed_s)
    everywhere = [
        StageLoad(
            s.key,
            s.label,
            s.elapsed_s,
            s.path_s,
            s.compute_s,
            *(
                TransferredBytes(m.written_bytes, m.read_bytes, share, share)
                for m in (s.shuffle, s.spill, s.cached)
            ),
            spill_at_once_bytes=s.spill_at_once_bytes,
            parents=s.parents,
            from_disk=s.from_disk,
        )
        for share in (0.0, 1.0)
        for s in load.stages
    ]
    half = len(load.stages)
    of_slow = JobLoad(load.elapsed_s, 1, 2, tuple(everywhere[:half]))
    of_fast = JobLoad(load.elapsed_s, 1, 2, tuple(everywhere[half:]))
    assert FastStorage(of_slow, fast, slow).time_s(0).value == pytest.approx(load.elapsed_s)
    assert FastStorage(of_fast, fast, slow).time_s(1e18).value == pytest.approx(load.elapsed_s)
