"""Condensed messages of failures, and their headlines."""

from __future__ import annotations

import json

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
    assert headline(said) == (
        "ValueError: invalid literal for int() with base 10: 'x', at job.py line 12"
    )
    assert headline(condensed(ABORTED + PYTHON)) == (
        "ValueError: invalid literal for int() with base 10: 'x', at job.py line 12 "
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


IN_A_PACKAGE = """Traceback (most recent call last):
  File "/opt/spark/python/lib/pyspark.zip/pyspark/worker.py", line 830, in main
    process()
  File "/home/etl/job.py", line 12, in parse
    return pd.to_datetime(text)
  File "/usr/lib/python3/dist-packages/pandas/core/tools/datetimes.py", line 1100, in convert
    raise error
ValueError: unconverted data remains: x
"""


@pytest.mark.parametrize("text", [PYTHON, IN_A_PACKAGE], ids=["own", "package"])
@pytest.mark.parametrize("before", ["", f"{ABORTED}org.apache.spark.api.python.PythonException: "])
def test_headline_names_the_line_of_the_users_code(text: str, before: str) -> None:
    assert ", at job.py line 12" in str(headline(condensed(before + text)))


def test_headline_names_no_line_of_pyspark() -> None:
    text = (
        "Traceback (most recent call last):\n"
        '  File "/opt/spark/python/lib/pyspark.zip/pyspark/worker.py", line 830, in main\n'
        "    process()\nValueError: bad\n"
    )
    assert headline(condensed(text)) == "ValueError: bad"


def test_headline_of_a_stage_that_was_given_up_is_its_cause() -> None:
    text = (
        "Job aborted due to stage failure: ResultStage 1 (save at job.py:9) has failed the maximum "
        "allowable number of times: 4. Most recent failure reason:\n"
        "org.apache.spark.shuffle.FetchFailedException: Block shuffle_0_4_2 is corrupted\n"
    )
    assert headline(condensed(text)) == (
        "org.apache.spark.shuffle.FetchFailedException: Block shuffle_0_4_2 is corrupted (stage 1 "
        "failed 4 times)"
    )


def test_rest_of_a_message_is_taken_from_its_trace() -> None:
    trace = (
        "org.apache.spark.SparkException: Python worker exited unexpectedly (crashed): Fatal "
        "Python error: Segmentation fault\n\tat org.apache.spark.X.y(X.scala:1)\n"
    )
    said = condensed("Python worker exited unexpectedly (crashed)", trace)
    assert said is not None
    assert said.endswith("Fatal Python error: Segmentation fault")


def test_error_of_spark_4_in_json_is_its_class_and_message() -> None:
    parameters = {"expression": "'n/a'", "targetType": '"INT"'}
    error = {"errorClass": "CAST_INVALID_INPUT", "messageParameters": parameters}
    assert condensed(json.dumps(error)) == (
        "[CAST_INVALID_INPUT] expression: 'n/a', targetType: \"INT\""
    )
    template = "The value <expression> can't be cast to <targetType>."
    assert condensed(json.dumps(error | {"messageTemplate": template})) == (
        "[CAST_INVALID_INPUT] The value 'n/a' can't be cast to \"INT\"."
    )
    assert condensed('{"errorClass": 3}') == '{"errorClass": 3}'
    assert condensed('{"errorClass"') == '{"errorClass"'


def test_unknown_values_of_a_spark_error_are_not_shown_as_none() -> None:
    error = {"errorClass": "TASK_WRITE_FAILED", "messageParameters": {"path": None, "why": "full"}}
    assert condensed(json.dumps(error)) == "[TASK_WRITE_FAILED] why: full"
    error["messageTemplate"] = "Writing to <path> failed: <why>"
    assert condensed(json.dumps(error)) == "[TASK_WRITE_FAILED] Writing to unknown failed: full"
