import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.util.List;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.storage.DiskBlockManager;

/** Cost of Spark's `getFile` in tasks, for new names and for existing files: ns of CPU time a call. */
public final class LocateFiles {
  private static final int THERE = 1_000;
  private static final int TASKS = 100;
  private static final long SETTLED_MS = 3_000; // until it is known that they are complete

  private LocateFiles() {}

  /** @param arguments how many names; settings are system properties, as Spark reads them */
  public static void main(String[] arguments) throws IOException, InterruptedException {
    int names = Integer.parseInt(arguments[0]) / TASKS;
    try (JavaSparkContext spark = new JavaSparkContext(new SparkConf())) {
      DiskBlockManager disks = SparkEnv.get().blockManager().diskBlockManager();
      for (int at = 0; at < THERE; at++) {
        Files.write(disks.getFile("rdd_0_" + at).toPath(), new byte[1]);
      }
      Thread.sleep(SETTLED_MS);
      List<Integer> tasks = IntStream.range(0, TASKS).boxed().toList();
      for (String round : List.of("warm", "told")) {
        double thereNs = spark.parallelize(tasks, TASKS)
            .map(task -> measure(names, at -> "rdd_0_" + at % THERE)).reduce(Double::sum);
        double newNs = spark.parallelize(tasks, TASKS)
            .map(task -> measure(names, at -> "shuffle_" + round + task + '_' + at + "_0.data"))
            .reduce(Double::sum);
        if (round.equals("told")) {
          System.out.println("there " + thereNs / TASKS);
          System.out.println("new " + newNs / TASKS);
        }
      }
    }
  }

  private static double measure(int names, IntFunction<String> name) {
    DiskBlockManager disks = SparkEnv.get().blockManager().diskBlockManager();
    String[] made = new String[names];
    for (int at = 0; at < names; at++) {
      made[at] = name.apply(at);
    }
    long letters = 0;
    ThreadMXBean clock = ManagementFactory.getThreadMXBean(); // others may have the processor
    long beganNs = clock.getCurrentThreadCpuTime();
    for (String each : made) {
      letters += disks.getFile(each).getPath().length();
    }
    double tookNs = clock.getCurrentThreadCpuTime() - beganNs;
    if (letters == 0) {
      throw new IllegalStateException();
    }
    return tookNs / names;
  }
}
