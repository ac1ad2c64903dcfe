"""Condensed messages of failures, and their headlines."""

from __future__ import annotations

import pytest

from venturi.jobs.failures.messages import condensed, headline

WRAPPED = """org.apache.spark.SparkException: Task failed while writing rows.
\tat org.apache.spark.sql.execution.datasources.FileFormatWriter$.executeTask(F.scala:296)
\tat java.lang.Thread.run(Thread.java:748)
Caused by: java.io.IOException: stream closed
\tat org.example.A.b(A.scala:1)
\t... 10 more
Caused by: java.io.IOException: No space left on device
\tat java.io.FileOutputStream.writeBytes(Native Method)
\t... 12 more
"""
ABORTED = (
    "Job aborted due to stage failure: Task 5 in stage 2.0 failed 4 times, most recent failure: "
    "Lost task 5.3 in stage 2.0 (TID 9) (host2 executor 3): "
)
PYTHON = """Traceback (most recent call last):
  File "/opt/spark/worker.py", line 830, in main
    process()
  File "/home/etl/job.py", line 12, in parse
    return int(text)
           ^^^^^^^^^
ValueError: invalid literal for int() with base 10: 'x'

\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handle(PythonRunner.scala:572)
\tat java.base/java.lang.Thread.run(Thread.java:840)

Driver stacktrace:
"""


def test_root_cause_of_the_trace_is_kept() -> None:
    said = condensed("Task failed while writing rows.", WRAPPED)
    assert said == (
        "Task failed while writing rows.\nCaused by: java.io.IOException: No space left on device"
    )
    assert headline(said) == (
        "Task failed while writing rows. (caused by java.io.IOException: No space left on device)"
    )


def test_root_cause_in_the_message_is_not_repeated() -> None:
    assert condensed(WRAPPED) == condensed(WRAPPED.splitlines()[0], WRAPPED)


def test_aborted_job_names_the_cause_first() -> None:
    assert headline(condensed(ABORTED + WRAPPED)) == (
        "org.apache.spark.SparkException: Task failed while writing rows. (caused by "
        "java.io.IOException: No space left on device) "
        "(task 5 of stage 2 failed 4 times, the last time on host2, executor 3)"
    )


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        (
            "Job aborted due to stage failure: Task 0 in stage 1.0 failed 1 times, most recent "
            "failure: Lost task 0.0 in stage 1.0 (TID 1, localhost, executor driver): "
            "java.lang.RuntimeException: bad",
            "java.lang.RuntimeException: bad (task 0 of stage 1 failed once, on localhost)",
        ),
        (
            "Job aborted due to stage failure: Task 0 in stage 1.1 failed 4 times, most recent "
            "failure: Lost task 0.3 in stage 1.1 (TID 9, host1, executor 2): ExecutorLostFailure "
            "(executor 2 exited caused by one of the running tasks) Reason: gone",
            "ExecutorLostFailure (executor 2 exited caused by one of the running tasks) Reason: "
            "gone (task 0 of stage 1.1 failed 4 times, the last time on host1, executor 2)",
        ),
    ],
    ids=["spark-2.4", "second-attempt"],
)
def test_aborted_job_of_another_version(reason: str, expected: str) -> None:
    assert headline(reason) == expected


def test_python_error_keeps_its_last_call() -> None:
    text = "org.apache.spark.api.python.PythonException: " + PYTHON
    said = condensed(text)
    assert said is not None
    assert "worker.py" not in said
    assert "/home/etl/job.py" in said
    assert "PythonRunner.scala" not in said
    assert headline(said) == "ValueError: invalid literal for int() with base 10: 'x'"
    assert headline(condensed(ABORTED + PYTHON)) == (
        "ValueError: invalid literal for int() with base 10: 'x' "
        "(task 5 of stage 2 failed 4 times, the last time on host2, executor 3)"
    )


def test_java_error_inside_a_python_traceback() -> None:
    text = (
        'Traceback (most recent call last):\n  File "job.py", line 3, in <module>\n    df.count()\n'
        "py4j.protocol.Py4JJavaError: An error occurred while calling o50.count.\n"
        ": java.lang.OutOfMemoryError: Java heap space\n\tat a.b.C.d(C.java:1)\n"
    )
    assert headline(condensed(text)) == "java.lang.OutOfMemoryError: Java heap space"


def test_long_message_keeps_beginning_and_end() -> None:
    said = condensed("first " + "x" * 5_000 + " last")
    assert said is not None
    assert said.startswith("first ")
    assert said.endswith(" last")
    assert len(said) <= 500


@pytest.mark.parametrize("text", [None, "", " \n", 7])
def test_no_message(text: object) -> None:
    assert condensed(text) is None
    assert headline(None) is None


def test_silent_end_of_stream_is_no_cause() -> None:
    trace = "a.B: crashed\n\tat a.B.c(B.java:1)\nCaused by: java.io.EOFException\n\t... 2 more"
    assert condensed("crashed", trace) == "crashed"
