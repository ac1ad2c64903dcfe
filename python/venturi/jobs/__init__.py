"""Why a Spark or Hadoop job is slow, what to change, what it would take elsewhere."""
