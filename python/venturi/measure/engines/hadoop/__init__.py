"""Hadoop: its clusters, HDFS, and MapReduce."""
