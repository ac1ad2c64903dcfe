"""The table of failures: every example has its own meaning."""

from __future__ import annotations

import pytest

from venturi.jobs.failures.meanings import FailureMeaning, failure_meanings, meaning_of


@pytest.mark.parametrize("entry", failure_meanings(), ids=lambda entry: entry.id)
def test_an_example_has_its_meaning(entry: FailureMeaning) -> None:
    found = meaning_of(entry.example)
    assert found is not None
    assert found.id == entry.id
    assert found.remedy
    assert found.confidence in {"high", "medium"}


def test_the_table_is_large_and_its_ids_are_unique() -> None:
    ids = [entry.id for entry in failure_meanings()]
    assert len(ids) == len(set(ids)) >= 40


@pytest.mark.parametrize("message", [None, "", "the input is bad", "ValueError: first attempt"])
def test_an_unknown_message_has_no_meaning(message: str | None) -> None:
    assert meaning_of(message) is None


def test_a_remedy_is_of_the_engine() -> None:
    spark = {each.id: each for each in failure_meanings("spark")}
    assert not [each.id for each in spark.values() if "mapreduce." in each.remedy]
    own = [each for each in failure_meanings("mapreduce") if "mapreduce" in each.remedy_of]
    assert len(own) >= 20
    assert not [each.id for each in own if "spark" in each.remedy.lower()]
    killed = spark["yarn-physical-memory"].example
    remedies = {each: meaning_of(killed, each) for each in ("spark", "mapreduce")}
    assert "spark.executor.memoryOverhead" in str(remedies["spark"])
    assert str(remedies["mapreduce"]).count("mapreduce.map.memory.mb") == 2


@pytest.mark.parametrize(
    "message",
    [
        "java.lang.RuntimeException: order status 'No space left on device' is not valid",
        "ValueError: invalid literal for int() with base 10: 'Java heap space'",
        'java.lang.IllegalArgumentException: unexpected line "GC overhead limit exceeded"',
    ],
)
def test_quoted_data_has_no_meaning(message: str) -> None:
    assert meaning_of(message) is None


@pytest.mark.parametrize(
    ("message", "meaning"),
    [
        ("OSError: [Errno 28] No space left on device: '/data1/t'", "no-space"),
        ('write failed, reason: "No space left on device"', "no-space"),
        ('Operation failed: "Server is busy", 503, PUT, https://a.dfs/c', "store-throttled-azure"),
    ],
)
def test_quotes_around_an_error_hide_no_meaning(message: str, meaning: str) -> None:
    found = meaning_of(message)
    assert found is not None
    assert found.id == meaning


@pytest.mark.parametrize(
    ("message", "meaning"),
    [
        (
            "java.net.ConnectException: Call From h/10.0.0.1 to nn:8020 failed on connection "
            "exception: java.net.ConnectException: Connection refused",
            "connection-refused",
        ),
        (
            "requests.exceptions.ConnectionError: HTTPConnectionPool(host='api', port=80): Max "
            "retries exceeded with url: / (Caused by NewConnectionError: [Errno 111] Connection "
            "refused)",
            "connection-refused",
        ),
        (
            "FetchFailed: org.apache.spark.shuffle.FetchFailedException: Failed to connect to "
            "h2/10.0.0.2:7337",
            "fetch-refused",
        ),
        ("java.io.IOException: Failed to connect to h2/10.0.0.2:7337", "fetch-refused"),
        (
            "org.apache.spark.SparkException: Python worker failed to connect back.",
            "python-worker-start",
        ),
    ],
)
def test_only_shuffle_connections_are_fetches(message: str, meaning: str) -> None:
    found = meaning_of(message)
    assert found is not None
    assert found.id == meaning


EMR = "com.amazon.ws.emr.hadoop.fs.shaded.com.amazonaws.services.s3.model.AmazonS3Exception"


@pytest.mark.parametrize(
    ("message", "setting"),
    [
        (f"{EMR}: Slow Down (Service: Amazon S3; Status Code: 503)", "fs.s3.maxRetries"),
        (f"Please reduce your request rate.\nCaused by: {EMR}: x", "fs.s3.maxRetries"),
        ("429 Too Many Requests\nPUT https://storage.googleapis.com/b/o", "fs.gs.http.max.retry"),
        ("IOException: Error accessing gs://b/part-0: 503 Service Unavailable", "fs.gs."),
        ("TooManyRequests: abfss://c@a.dfs.core.windows.net/out", "fs.azure.io.retry.max.retries"),
        ("Operation failed: 503, PUT, https://a.dfs.core.windows.net/c/out", "fs.azure."),
        ("wasbs://c@a.blob.core.windows.net/x: ServerBusy", "fs.azure."),
        ("AWSServiceThrottledException: getFileStatus on s3a://b/x: Slow Down", "fs.s3a.retry"),
        (f"{EMR}: Unable to execute HTTP request: connect timed out", "emrfs-site"),
        ("oss://b/x: Status Code: 503; SlowDown", "store's connector"),
    ],
)
def test_remedy_of_a_store_fits_the_store_in_the_message(message: str, setting: str) -> None:
    found = meaning_of(message)
    assert found is not None
    assert setting in found.remedy
    assert ("fs.s3a" in found.remedy) is ("fs.s3a" in setting)
