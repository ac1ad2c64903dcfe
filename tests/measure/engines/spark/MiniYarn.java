import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.MiniYARNCluster;

/**
 * Hadoop's own cluster for tests, of one NodeManager with three local directories below the working directory:
 * writes where it is into the given file, and serves until its input ends.
 */
public final class MiniYarn {
  private static final int DIRECTORIES = 3;

  private MiniYarn() {}

  public static void main(String[] arguments) {
    try {
      serve(Path.of(arguments[0]));
    } catch (Exception error) {
      error.printStackTrace();
      System.exit(1); // its threads go on
    }
    System.exit(0);
  }

  private static void serve(Path told) throws Exception {
    YarnConfiguration conf = new YarnConfiguration();
    conf.set("hadoop.tmp.dir", Path.of("tmp").toAbsolutePath().toString());
    conf.set("yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage", "100");
    conf.set("yarn.nodemanager.vmem-check-enabled", "false");
    conf.set("yarn.scheduler.capacity.root.queues", "default"); // its jar brings no queues
    conf.set("yarn.scheduler.capacity.root.default.capacity", "100");
    conf.set("yarn.scheduler.capacity.maximum-am-resource-percent", "1");
    try (MiniYARNCluster cluster = new MiniYARNCluster("mini-yarn", 1, DIRECTORIES, 1)) {
      cluster.init(conf);
      cluster.start();
      // Started, it may not know its port yet (its address is that of port 0).
      while (cluster.getConfig().get(YarnConfiguration.RM_ADDRESS).endsWith(":0")) {
        Thread.sleep(100);
      }
      Path part = told.resolveSibling("part");
      try (OutputStream file = Files.newOutputStream(part)) {
        cluster.getConfig().writeXml(file);
      }
      Files.move(part, told);
      while (System.in.read() >= 0) {
        // Until the one who started it ends.
      }
    }
  }
}
