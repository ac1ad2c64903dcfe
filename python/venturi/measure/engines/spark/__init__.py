"""Apache Spark, and where its applications run."""
