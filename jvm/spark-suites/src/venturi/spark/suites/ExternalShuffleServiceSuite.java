package venturi.spark.suites;

/** Spark's own, with {@link Settings}. */
public final class ExternalShuffleServiceSuite extends org.apache.spark.ExternalShuffleServiceSuite {
  @Override
  public void beforeEach() {
    super.beforeEach();
    Settings.into(conf());
  }
}
