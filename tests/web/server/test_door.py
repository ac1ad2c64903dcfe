"""Whatever passes the door can be read in every way; what does not is refused, and nothing of it
is stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given
from hypothesis import settings as rounds
from hypothesis import strategies as st

from api_client import client_of
from venturi.core.errors import CODES, VenturiError
from venturi.core.settings import Settings
from venturi.record.importing.exchange import export_trials, import_archive
from venturi.record.query.counting import count
from venturi.record.query.selection import Query
from venturi.record.store.repository import TrialRepository
from venturi.record.store.tables import CONFIGURATION, RECORDS, TRIALS
from venturi.record.trial import (
    Cluster,
    Engine,
    Failure,
    Host,
    Phase,
    PriceQuote,
    Provenance,
    ProvenanceKind,
    Sample,
    Software,
    State,
    Trial,
    TrialWarning,
    Workload,
)

ODD = [
    "",
    " ",
    "sort",
    "last",
    "\0",
    "tera\0sort",
    "\x1b[2J",
    "\x7f",
    "\x85",
    "a\nb",
    "\t",
    "\r",
    "\u202e",
    "\u2028",
    "\ud800",
    "é日本",
    "\U0001f600" * 200,
    "x" * 200,
    "y" * 201,
    "z" * 70_000,
    "=1+1",
    "'",
    '"',
    "a,b",
    "a;b",
    "%",
    "\\",
    "{}",
    "[]",
    "null",
    "nan",
    "inf",
    "true",
    "1e308",
    "-0",
    "configuration.",
    "configuration.sort",
    "time [s]",
    "id",
    "elapsed_s",
    "<script>",
]
NUMBERS = [0, 1, -1, 2, 2**31, 2**53 - 1, 2**53, 2**63, 2**64, 10**30, -(10**101), 10**4000]
FLOATS = [0.0, -0.0, 5e-324, 1e-300, 0.5, 1.0, 3.4e9, 3.5e9, -1.0, 1e99, 1e101, 1.7e308]
text = st.sampled_from(ODD) | st.text(max_size=20)
number = st.sampled_from(NUMBERS) | st.integers(0, 1000)
real = st.sampled_from(FLOATS) | st.floats(0, 1e6)
maybe_text, maybe_number = st.none() | text, st.none() | number
scalar = st.none() | st.booleans() | text | number | real
scalars = st.dictionaries(text, scalar, max_size=4)
tree = st.recursive(
    scalar,
    lambda each: st.lists(each, max_size=3) | st.dictionaries(text, each, max_size=3),
    max_leaves=8,
)
ZONES = [UTC, *(timezone(sign * timedelta(hours=23, minutes=59)) for sign in (1, -1))]
moments = st.builds(
    datetime.replace,
    st.sampled_from(
        [
            datetime(1, 1, 1),
            datetime(1989, 12, 31, 23, 59, 59, 999_999),
            datetime(1990, 1, 1),
            datetime(2026, 2, 28, 1, 2, 3, 4),
            datetime(2099, 12, 31, 23, 59, 59, 999_999),
            datetime(2100, 1, 1),
            datetime(9999, 12, 31, 23, 59, 59),
        ]
    ),
    tzinfo=st.sampled_from(ZONES),
)


@st.composite
def trials(draw: st.DrawFn) -> Trial:
    """Trials of odd values; most are plain but for one or two of their parts."""

    def odd(plain: Any, strategy: st.SearchStrategy[Any]) -> Any:
        return draw(strategy) if draw(st.integers(0, 4)) == 0 else plain

    failed = draw(st.booleans())
    samples = st.builds(Sample, text, real, text, maybe_text, scalars) | st.builds(
        Sample, text, st.none(), text, maybe_text, scalars, text
    )
    return Trial(
        id=draw(st.from_regex(r"[0-9A-Za-z][0-9A-Za-z_-]{3,20}", fullmatch=True)),
        workload=odd(
            Workload("sort", "v1", "tiny", 100, 1),
            st.builds(Workload, text, text, maybe_text, maybe_number, maybe_number),
        ),
        engine=odd(Engine("native", "1"), st.builds(Engine, text, text)),
        cluster=odd(
            Cluster((Host("here"),)),
            st.builds(
                Cluster,
                st.lists(
                    st.builds(Host, text, st.dictionaries(text, tree, max_size=3)), max_size=3
                ).map(tuple),
                st.dictionaries(text, st.lists(text, max_size=2).map(tuple), max_size=2),
                maybe_text,
                maybe_text,
                st.none() | st.builds(PriceQuote, real, text, text, text, text),
            ),
        ),
        configuration=odd({"threads": 2}, scalars),
        software=odd(
            Software("1", None, None),
            st.builds(
                Software,
                text,
                maybe_text,
                maybe_text,
                maybe_text,
                st.dictionaries(text, text, max_size=2),
            ),
        ),
        provenance=odd(
            Provenance(ProvenanceKind.IMPORTED, "a paper"),
            st.builds(Provenance, st.just(ProvenanceKind.IMPORTED), text, maybe_text),
        ),
        started_at=odd(datetime(2026, 1, 1, tzinfo=UTC), st.none() | moments),
        state=State.FAILED if failed else State.SUCCEEDED,
        failure=odd(Failure("engine", "VEN-X", "no"), st.builds(Failure, text, text, text))
        if failed
        else None,
        experiment=odd(None, maybe_text),
        repetition=odd(0, number),
        warm_up=draw(st.booleans()),
        seed=odd(None, maybe_number),
        elapsed_s=odd(1.5, real),
        phases=odd((), st.lists(st.builds(Phase, text, real, real), max_size=3).map(tuple)),
        samples=odd((), st.lists(samples, max_size=3).map(tuple)),
        warnings=odd((), st.lists(st.builds(TrialWarning, text, text), max_size=2).map(tuple)),
    )


@pytest.fixture
def elsewhere(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[list[tuple[TrialRepository, httpx.Client]]]:
    """Empty repositories on both databases, and a client of each."""
    postgresql = request.getfixturevalue("postgresql")
    urls = {"sqlite": None, "postgresql": postgresql.new_repository()}
    with ExitStack() as stack:
        both = [
            stack.enter_context(
                TrialRepository.open(Settings(tmp_path / name, url, None, allow_debug=False))
            )
            for name, url in urls.items()
        ]
        yield [(each, stack.enter_context(client_of(each))) for each in both]


def forget(repository: TrialRepository) -> None:
    with repository.writing() as connection:
        for table in (CONFIGURATION, TRIALS, RECORDS):
            connection.execute(sa.delete(table))


def questions(trial: Trial) -> Iterator[str]:
    """Every way to ask for `trial`, and for all there is."""
    yield from ("/api/start", "/api/status", "/api/keys", "/api/trials")
    yield from (f"/api/trials/{trial.id}", f"/api/trials/{trial.id}/series")
    yield from (f"/api/trials/{trial.id}/job", "/api/cost", "/api/scaling", "/api/compare")
    for sort in ("started_at", "elapsed_s", "workload"):
        yield f"/api/trials?{urlencode({'sort': sort, 'desc': 'false'})}"
    for format_ in ("csv", "ndjson", "parquet"):
        yield f"/api/download?format={format_}"
    yield f"/api/groups?{urlencode({'by': ['workload', 'engine', 'scale']}, doseq=True)}"


Asked = Callable[[httpx.Client, Trial], None]


@pytest.fixture
def asked() -> Asked:
    """Requests the only trial in every way. A key is requested once for each of its values and
    of the other inputs of the answer, its facets always.
    """
    known = set()

    def ask(client: httpx.Client, trial: Trial) -> None:
        for question in questions(trial):
            answer = client.get(question)
            # Failed analyses return one of our codes: one trial is no curve.
            assert answer.status_code < 500, (question, answer.text)
            analysis = question.partition("?")[0] in {"/api/cost", "/api/scaling", "/api/compare"}
            if answer.status_code != 200:
                assert analysis or question.endswith("/job"), (question, answer.text)
                assert answer.json()["code"] in CODES
        listed = client.get("/api/trials").json()["rows"]
        assert [row["id"] for row in listed] == [trial.id]
        for key in client.get("/api/keys").json()["keys"]:
            name = urlencode({"": key["key"]})[1:]
            facets = client.get(f"/api/facets?key={name}")
            assert facets.status_code == 200, (name, facets.text)
            case = (
                client,
                name,
                facets.text,
                trial.workload,
                trial.state,
                trial.warm_up,
                trial.elapsed_s,
                trial.cluster.price,
                len(trial.cluster.hosts),
            )
            if case in known:
                continue
            for way in ("groups?by", "cost?by", "scaling?x"):
                answer = client.get(f"/api/{way}={name}")
                assert answer.status_code < 500, (way, name, answer.text)
                if way == "groups?by":
                    assert answer.status_code == 200, (way, name, answer.text)
            known.add(case)  # only after success

    return ask


def check_the_door(
    elsewhere: list[tuple[TrialRepository, httpx.Client]],
    asked: Asked,
    tmp_path: Path,
    trial: Trial,
) -> None:
    (lite, _), (grown, _) = elsewhere
    refusals = []
    for repository in (lite, grown):
        forget(repository)
        try:
            repository.add(trial)
        except VenturiError as error:
            refusals.append((error.code, error.where["field"], error.message))
    if refusals:
        assert len(set(refusals)) == 1
        assert len(refusals) == 2, "both databases take the same"
        assert refusals[0][0] == "VEN-RECORD-LIMIT"
        assert [count(repository, Query()) for repository in (lite, grown)] == [0, 0]
        return
    for repository, client in elsewhere:
        assert repository.get(trial.id) == trial
        asked(client, trial)
    forget(grown)
    archive = tmp_path / "moved.zip"
    export_trials(lite, [trial], archive, overwrite=True)
    moved = import_archive(grown, archive)
    assert (moved.added, moved.refused) == (1, ())
    assert grown.get(trial.id) == trial


SLOW = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


@rounds(max_examples=30, suppress_health_check=SLOW)
@given(trial=trials())
def test_what_passes_the_door_can_be_read_in_every_way_and_the_rest_is_not_stored(
    elsewhere: list[tuple[TrialRepository, httpx.Client]],
    asked: Asked,
    tmp_path: Path,
    trial: Trial,
) -> None:
    check_the_door(elsewhere, asked, tmp_path, trial)


@pytest.mark.long  # the same with more trials
@rounds(max_examples=200, suppress_health_check=SLOW)
@given(trial=trials())
def test_many_trials_at_the_door(
    elsewhere: list[tuple[TrialRepository, httpx.Client]],
    asked: Asked,
    tmp_path: Path,
    trial: Trial,
) -> None:
    check_the_door(elsewhere, asked, tmp_path, trial)


def test_the_largest_that_passes_can_be_read(
    elsewhere: list[tuple[TrialRepository, httpx.Client]],
    make_trial: Callable[..., Trial],
    tmp_path: Path,
) -> None:
    trial = make_trial(
        state=State.SUCCEEDED,
        elapsed_s=3.4e9,
        workload=Workload("\U0001f600" * 200, "v" * 200, "s" * 200, 2**53 - 1, 2**53 - 1),
        engine=Engine("\U0001f680" * 200, "\U0001f681" * 200),
        experiment="\U0001f4a5" * 200,
        configuration={f"{n:04}" + "k" * 196: f"{n:04}" * 50 for n in range(900)},
        samples=tuple(Sample(f"m{n % 50}", 1e100, "s", labels={"n": n}) for n in range(20_000)),
        phases=tuple(Phase(f"p{n}" * 10, n, 1) for n in range(40)),
        cluster=Cluster(tuple(Host(f"h{n}", {"cores": 2}) for n in range(10_000))),
    )
    (lite, _), (grown, _) = elsewhere
    lite.add(trial)
    export_trials(lite, [trial], tmp_path / "a.zip")
    assert import_archive(grown, tmp_path / "a.zip").added == 1
    for _, client in elsewhere:
        for question in questions(trial):
            answer = client.get(question)
            assert answer.status_code < 500, (question, answer.text[:500])
        assert client.get("/api/trials").status_code == 200
        assert trial.id in client.get(f"/api/trials/{trial.id}").text
