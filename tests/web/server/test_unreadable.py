"""One trial that cannot be read keeps no page and no download of the others from being answered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from api_client import client_of
from planted import OVERFLOWING, add_overflowing, write_record
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import State, Trial

MakeTrial = Callable[..., Trial]
ASKED = (
    "/api/trials",
    "/api/trials?sort=started_at&desc=false&limit=1",
    "/api/status",
    "/api/start",
    "/api/keys",
    "/api/facets?key=started_at",
    "/api/groups?by=started_at&by=workload",
    "/api/compare?by=threads",
    "/api/cost?by=threads",
    "/api/exclusions",
    *(f"/api/download?format={name}" for name in ("ndjson", "csv", "parquet", "records")),
)


@pytest.mark.parametrize("planted", [*OVERFLOWING, "{"])
def test_what_cannot_be_read_is_named_and_the_rest_is_answered(
    repository: TrialRepository, make_trial: MakeTrial, planted: str
) -> None:
    sound = replace(make_trial(), state=State.SUCCEEDED, elapsed_s=3.0)
    bad = replace(make_trial(), state=State.SUCCEEDED, elapsed_s=4.0)
    repository.add(sound)
    if planted in OVERFLOWING:
        add_overflowing(repository, bad, planted)
    else:
        repository.add(bad)
        with repository.writing() as connection:
            write_record(connection, bad.id, planted)
    with client_of(repository) as client:
        for path in ASKED:
            answer = client.get(path)
            assert answer.status_code == 200, (path, answer.text)
        assert {row["id"] for row in client.get("/api/trials").json()["rows"]} == {
            sound.id,
            bad.id,
        }
        if planted in OVERFLOWING:
            findings = client.get("/api/start").json()["findings"]
            told = " ".join(str(each) for each in findings)
            assert bad.id in told
            assert "venturi repository check --mend" in told
            return
        table = client.get("/api/download?format=csv")
        assert table.headers["venturi-unreadable"] == bad.id
        assert sound.id in table.text
        answer = client.get(f"/api/trials/{bad.id}")
        assert answer.status_code == 422
        assert "venturi repository check --mend" in answer.json()["hint"]
