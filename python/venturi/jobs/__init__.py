"""Why a Spark or Hadoop job is slow, which changes help, and its time elsewhere."""
