package venturi.spark.suites;

/** Spark's own, with {@link Settings}. */
public final class SortShuffleSuite extends org.apache.spark.SortShuffleSuite {
  @Override
  public void beforeEach() {
    super.beforeEach();
    Settings.into(conf());
  }
}
