package venturi.spark.suites;

import org.apache.spark.SparkConf;

/** Spark's own, with {@link Settings}. */
public final class FallbackStorageSuite extends org.apache.spark.storage.FallbackStorageSuite {
  @Override
  public SparkConf getSparkConf(int initialExecutors, int minExecutors) {
    return Settings.into(super.getSparkConf(initialExecutors, minExecutors));
  }
}
