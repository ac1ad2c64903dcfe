package venturi.spark.suites;

/** Spark's own, with {@link Settings}. */
public final class ShuffleNettySuite extends org.apache.spark.ShuffleNettySuite {
  @Override
  public void beforeEach() {
    super.beforeEach();
    Settings.into(conf());
  }
}
