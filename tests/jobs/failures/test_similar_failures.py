"""The same failures in the words of other engines, versions and resource managers."""

from __future__ import annotations

import pytest

from venturi.jobs.failures.meanings import meaning_of
from venturi.jobs.failures.messages import condensed, headline

MESSAGES = [
    (
        "hadoop-2-physical",
        "Container [pid=8788,containerID=container_1598507699008_0094_01_000010] is running beyond "
        "physical memory limits. Current usage: 9.8 GB of 9.8 GB physical memory used; 43.0 GB of "
        "47.6 TB virtual memory used. Killing container.\n"
        "Dump of the process-tree for container_1598507699008_0094_01_000010 :",
        "yarn-physical-memory",
    ),
    (
        "hadoop-3-physical",
        "[2019-02-13 07:44:33.796]Container [pid=188212,containerID=container_e04_1_01_000002] is "
        "running 1245184B beyond the 'PHYSICAL' memory limit. Current usage: 2.0 GB of 2 GB "
        "physical memory used; 4.1 GB of 4.2 GB virtual memory used. Killing container.",
        "yarn-physical-memory",
    ),
    (
        "hadoop-3-virtual",
        "[2019-02-13 07:44:33.796]Container [pid=188212,containerID=container_e04_1_01_000002] is "
        "running beyond virtual memory limits. Current usage: 264.3 MB of 1 GB physical memory "
        "used; 2.8 GB of 2.1 GB virtual memory used. Killing container.",
        "yarn-virtual-memory",
    ),
    (
        "spark-2-virtual",
        "ExecutorLostFailure (executor 9 exited caused by one of the running tasks) Reason: "
        "Container killed by YARN for exceeding memory limits. 7.2 GB of 4.2 GB virtual memory "
        "used. Consider boosting spark.yarn.executor.memoryOverhead.",
        "yarn-virtual-memory",
    ),
    (
        "spark-2-physical",
        "ExecutorLostFailure (executor 121 exited caused by one of the running tasks) Reason: "
        "Container killed by YARN for exceeding memory limits. 30.7 GB of 30 GB physical memory "
        "used. Consider boosting spark.yarn.executor.memoryOverhead.",
        "yarn-physical-memory",
    ),
    (
        "spark-4-yarn-137",
        "Container from a bad node: container_1_0001_01_000003 on host: host2. Exit status: 137. "
        "Possible causes: Unknown executor exit code (137) (died from signal 9?) Diagnostics: "
        "[2026-11-28 03:07:14.171]Container killed on request. Exit code is 137",
        "exit-killed",
    ),
    (
        "yarn-application-master",
        "Application application_1467148440412_0020 failed 2 times due to AM Container for "
        "appattempt_1467148440412_0020_000002 exited with  exitCode: -104\nFor more detailed "
        "output, check application tracking page",
        "yarn-physical-memory",
    ),
    (
        "yarn-lost-application-master",
        "Application application_1559836857064_15467 failed 1 times due to AM Container for "
        "appattempt_1559836857064_15467_000001 exited with exitCode: -100\nFailing this attempt."
        "Diagnostics: Container released on a *lost* node",
        "yarn-lost-node",
    ),
    (
        "yarn-scheduler-preempted",
        "Container container_1_0001_01_000007 exited. Exit status: -102. Diagnostics: Container "
        "preempted by scheduler",
        "yarn-preempted",
    ),
    (
        "kubernetes-spark-2",
        "The executor with id 1 exited with exit code 137.\nThe API gave the following brief "
        "reason: null\nThe API gave the following message: null\nThe API gave the following "
        "container statuses:\n\nContainerStatus(name=executor, state=ContainerState(terminated="
        "ContainerStateTerminated(exitCode=137, reason=OOMKilled)))",
        "kubernetes-out-of-memory",
    ),
    (
        "kubernetes-storage",
        "The executor with id 7 exited with exit code -1(unexpected).\nThe API gave the following "
        "brief reason: Evicted\nThe API gave the following message: The node was low on resource: "
        "ephemeral-storage. Threshold quantity: 4902142351, available: 4528764Ki. ",
        "kubernetes-storage",
    ),
    (
        "kubernetes-missing",
        "The executor with ID 4 (registered at 1700000000000 ms) was not found in the cluster at "
        "the polling time (1700000600000 ms) which is after the accepted detect delta time (30000 "
        "ms) configured by `spark.kubernetes.executor.missingPodDetectDelta`. The executor may "
        "have been deleted but the driver missed the deletion event. Marking this executor as "
        "failed.",
        "kubernetes-pod-deleted",
    ),
    ("standalone-spark-2", "Slave lost", "worker-lost"),
    ("standalone-spark-3", "ExecutorLostFailure: Executor Process Lost", "worker-lost"),
    ("scale-down", "Executor decommission: spark scale down", "decommissioned"),
    (
        "scala-lost-failure",
        "ExecutorLostFailure (executor 3 exited unrelated to the running tasks) Reason: Container "
        "container_1_0001_01_000004 on host: ip-10-0-0-7.ec2.internal was preempted.",
        "yarn-preempted",
    ),
    (
        "mapreduce-disk",
        "Error: java.io.IOException: Spill failed\n\tat org.apache.hadoop.mapred.MapTask"
        "$MapOutputBuffer.checkSpillException(MapTask.java:1585)\nCaused by: org.apache.hadoop."
        "util.DiskChecker$DiskErrorException: Could not find any valid local directory for "
        "attempt_1_0001_m_000003_0_spill_7.out\n\tat org.apache.hadoop.fs.LocalDirAllocator.x",
        "local-dirs",
    ),
    (
        "mapreduce-shuffle",
        "Error: org.apache.hadoop.mapreduce.task.reduce.Shuffle$ShuffleError: error in shuffle in "
        "fetcher#5\n\tat org.apache.hadoop.mapreduce.task.reduce.Shuffle.run(Shuffle.java:136)\n"
        "Caused by: java.io.IOException: Exceeded MAX_FAILED_UNIQUE_FETCHES; bailing-out.",
        "fetch-failures",
    ),
    ("mapreduce-heap", "Error: java.lang.OutOfMemoryError: Java heap space", "mapreduce-heap"),
    (
        "mapreduce-143",
        "Container killed by the ApplicationMaster.\nContainer killed on request. Exit code is "
        "143\nContainer exited with a non-zero exit code 143",
        "exit-terminated",
    ),
    (
        "python-in-java",
        "org.apache.spark.SparkException: Job aborted due to stage failure: Task 3 in stage 7.0 "
        "failed 4 times, most recent failure: Lost task 3.3 in stage 7.0 (TID 99) (10.0.0.4 "
        "executor 2): org.apache.spark.api.python.PythonException: 'Traceback (most recent call "
        'last):\n  File "/databricks/spark/python/pyspark/worker.py", line 1234, in main\n'
        '    process()\n  File "/job.py", line 3, in f\n    import xgboost\nModuleNotFoundError: '
        "No module named 'xgboost'\n'. Full traceback below:\nTraceback (most recent call last):\n"
        '  File "/job.py", line 3, in f\n    import xgboost\n'
        "ModuleNotFoundError: No module named 'xgboost'\n\n\tat org.apache.spark.api.python.Base",
        "python-module",
    ),
    (
        "java-in-python",
        'Traceback (most recent call last):\n  File "job.py", line 9, in <module>\n'
        "    df.write.parquet(out)\npy4j.protocol.Py4JJavaError: An error occurred while calling "
        "o88.parquet.\n: org.apache.spark.SparkException: Job aborted.\n\tat org.apache.spark.sql."
        "X.y(X.scala:1)\nCaused by: java.io.FileNotFoundException: File hdfs://nn/warehouse/t/"
        "_temporary/0/task_1 does not exist.\n\tat org.apache.hadoop.hdfs.A.b(A.java:1)",
        "output-removed",
    ),
    (
        "s3-sdk-2",
        "org.apache.hadoop.fs.s3a.AWSServiceThrottledException: upload part #3 on out/part-0: "
        "software.amazon.awssdk.services.s3.model.S3Exception: Please reduce your request rate. "
        "(Service: S3, Status Code: 503, Request ID: ABC):SlowDown",
        "store-throttled",
    ),
    (
        "azure-busy",
        'Operation failed: "The server is currently unable to receive requests. Please retry your '
        'request.", 503, PUT, https://x.dfs.core.windows.net/c/p, ServerBusy',
        "store-throttled-azure",
    ),
    (
        "excluded-for-disk",
        "Job aborted due to stage failure: \nAborting TaskSet 16.0 because task 2 (partition 2)\n"
        "cannot run anywhere due to node and executor excludeOnFailure.\nMost recent failure:\n"
        "Lost task 0.2 in stage 16.0 (TID 2580) (host5 executor 57): java.io.IOException: No space "
        "left on device\n",
        "no-space",
    ),
    (
        "broadcast-spark-2",
        "org.apache.spark.SparkException: Cannot broadcast the table with more than 512000000 "
        "rows: 900000000 rows",
        "broadcast-size",
    ),
    (
        "fetch-frame",
        "FetchFailed: org.apache.spark.shuffle.FetchFailedException: Too large frame: 2991947178",
        "array-size",
    ),
    (
        "external-shuffle",
        "FetchFailed: org.apache.spark.shuffle.FetchFailedException: java.lang.RuntimeException: "
        "Executor is not registered (appId=application_1_0001, execId=7)",
        "shuffle-lost",
    ),
    (
        "spark-2-not-serializable",
        "Job aborted due to stage failure: Task 0.0 in stage 3.0 (TID 4) had a not serializable "
        "result: org.apache.hadoop.hbase.io.ImmutableBytesWritable",
        "task-not-serializable",
    ),
    (
        "spark-2-missing-file",
        "java.io.FileNotFoundException: No such file or directory: s3a://bucket/t/part-0.parquet\n"
        "It is possible the underlying files have been updated. You can explicitly invalidate the "
        "cache in Spark by running 'REFRESH TABLE tableName'",
        "files-changed",
    ),
    (
        "s3-forbidden",
        "java.nio.file.AccessDeniedException: s3a://b/k: getFileStatus on s3a://b/k: "
        "software.amazon.awssdk.services.s3.model.S3Exception: null (Status Code: 403)",
        "store-denied",
    ),
    (
        "gcs-429",
        "java.io.IOException: Error accessing gs://bucket/out/_SUCCESS\n"
        "Caused by: com.google.api.client.googleapis.json.GoogleJsonResponseException: "
        '429 Too Many Requests {"code": 429, "errors": [{"reason": "rateLimitExceeded"}]}',
        "store-throttled-gcs",
    ),
    (
        "hadoop-2-no-datanode",
        "org.apache.hadoop.ipc.RemoteException: File /out/_temporary/0/part-0 could only be "
        "replicated to 0 nodes instead of minReplication (=1).  There are 2 datanode(s) running "
        "and 2 node(s) are excluded in this operation.",
        "block-unwritten",
    ),
    (
        "no-native-library",
        "java.lang.UnsatisfiedLinkError: no tensorflow_jni in java.library.path: /usr/lib64",
        "native-library",
    ),
    (
        "numpy-memory",
        "Traceback (most recent call last):\n"
        '  File "worker.py", line 830, in main\n'
        "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 7.45 GiB for an array with "
        "shape (1000000000,) and data type float64",
        "python-memory",
    ),
    (
        "aws-2-connect",
        "software.amazon.awssdk.core.exception.SdkClientException: Unable to execute HTTP request: "
        "Connect to bucket.s3.eu-west-1.amazonaws.com:443 failed: connect timed out",
        "store-timeout",
    ),
    (
        "s3a-read-timeout",
        "java.net.SocketTimeoutException: re-open s3a://bucket/in/part-7 at 0: Read timed out",
        "store-timeout",
    ),
    (
        "spark-3-parquet-type",
        "org.apache.spark.sql.execution.QueryExecutionException: Parquet column cannot be "
        "converted in file s3a://b/t/part-0.parquet. Column: [id], Expected: bigint, Found: INT32",
        "input-schema",
    ),
    (
        "parquet-converter",
        "org.apache.spark.sql.AnalysisException: Unable to create Parquet converter for data type "
        '"timestamp" whose Parquet type is optional int64 ts',
        "input-schema",
    ),
]


@pytest.mark.parametrize(
    ("message", "meaning"), [each[1:] for each in MESSAGES], ids=[each[0] for each in MESSAGES]
)
def test_similar_message_has_the_meaning(message: str, meaning: str) -> None:
    said = condensed(message)
    found = meaning_of(said)
    assert found is not None
    assert found.id == meaning
    assert headline(said)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "python-in-java",
            "ModuleNotFoundError: No module named 'xgboost', at job.py line 3 (task 3 of stage 7 "
            "failed 4 times, the last time on 10.0.0.4, executor 2)",
        ),
        (
            "java-in-python",
            "org.apache.spark.SparkException: Job aborted. (caused by "
            "java.io.FileNotFoundException: File hdfs://nn/warehouse/t/_temporary/0/task_1 does "
            "not exist.)",
        ),
        (
            "mapreduce-disk",
            "Error: java.io.IOException: Spill failed (caused by org.apache.hadoop.util."
            "DiskChecker$DiskErrorException: Could not find any valid local directory for "
            "attempt_1_0001_m_000003_0_spill_7.out)",
        ),
    ],
)
def test_headline_of_a_nested_message(name: str, expected: str) -> None:
    message = next(each[1] for each in MESSAGES if each[0] == name)
    assert headline(condensed(message)) == expected
