package venturi.spark.suites;

import java.util.List;
import org.apache.spark.SparkConf;

/** Settings from system properties, for suites that ignore them. */
final class Settings {
  private static final String LOCAL = "spark.local.dir";

  private Settings() {}

  /** {@code conf}, with tiers if there are any; local directories are below the one that it has. */
  static SparkConf into(SparkConf conf) {
    for (String name : List.of("spark.plugins", "spark.storage.hierarchyStore")) {
      String value = System.getProperty(name);
      if (value != null) {
        conf.set(name, value);
      }
    }
    String given = System.getProperty(LOCAL);
    String own = conf.get(LOCAL, null);
    if (own == null) {
      conf.set(LOCAL, given);
    } else if (own.indexOf(',') < 0) {
      StringBuilder below = new StringBuilder();
      for (String each : given.split(",")) {
        below.append(below.isEmpty() ? "" : ",").append(own).append(each.substring(each.lastIndexOf('/')));
      }
      conf.set(LOCAL, below.toString());
    }
    return conf;
  }
}
