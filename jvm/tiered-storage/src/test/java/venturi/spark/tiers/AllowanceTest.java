package venturi.spark.tiers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** An allowance is overshot by at most the largest file, whatever tasks do. */
class AllowanceTest {
  private static final long ALLOWED = 40_000_000;

  @TempDir Path temporary;
  private Placement placement;
  private File ssd;

  /** Bytes on the fast tier, of every existing file. */
  private final Map<File, Long> there = new HashMap<>();
  private long largest;
  private long most;

  /**
   * A task of Spark: writes files one after another, or many concurrently, each up to a random
   * size.
   */
  private final class Task implements AutoCloseable {
    private final ExecutorService thread = Executors.newSingleThreadExecutor();
    private final Random random;
    private final long upTo;
    private final int width;
    private final int number;
    private final List<File> open = new ArrayList<>();
    private final List<Long> left = new ArrayList<>();
    private int made;
    private int rounds;

    Task(int number, long seed, long upTo, int width) throws Exception {
      this.number = number;
      this.random = new Random(seed * 0x9E3779B97F4A7C15L + number);
      this.upTo = upTo;
      this.width = width;
      thread.submit(placement::taskBegins).get();
    }

    /** One thing that a task may do. */
    void step() throws Exception {
      if (open.isEmpty()) {
        if (++rounds % 4 == 0) {
          thread.submit(placement::taskEnds).get();
          thread.submit(placement::taskBegins).get();
        }
        String of = random.nextBoolean() ? "temp_shuffle_" : "shuffle_" + number + '_';
        for (int at = 0; at < width; at++) {
          String name = of + number + '-' + made++ + (of.startsWith("temp") ? "" : "_0.data");
          File file = thread.submit(() -> placement.locate(name)).get();
          File written = file;
          if (!of.startsWith("temp")) {
            written = new File(file.getPath() + ".8f14e45f-ceea-467f-a8f4-2b1c3d4e5f60");
            placement.writes(file, written);
          }
          open.add(written);
          left.add(upTo / 10 + (long) (random.nextDouble() * (upTo - upTo / 10)));
        }
        return;
      }
      int at = random.nextInt(open.size());
      long more = Math.min(left.get(at), 1 + (long) (random.nextDouble() * upTo / 3));
      File file = open.get(at);
      grow(file, more);
      left.set(at, left.get(at) - more);
      if (left.get(at) == 0) {
        open.remove(at);
        left.remove(at);
        String name = FileKind.finalName(file.getName());
        File complete = new File(file.getParent(), name);
        if (!complete.equals(file)) {
          assertTrue(file.renameTo(complete));
          Long bytes = there.remove(file);
          if (bytes != null) {
            there.put(complete, bytes);
          }
        }
        if (random.nextInt(3) == 0) {
          assertTrue(complete.delete());
          there.remove(complete);
        }
      }
    }

    @Override
    public void close() {
      thread.shutdownNow();
    }
  }

  private void grow(File file, long more) throws IOException {
    try (RandomAccessFile written = new RandomAccessFile(file, "rw")) {
      written.setLength(written.length() + more);
      largest = Math.max(largest, written.length());
      if (file.toPath().startsWith(ssd.toPath())) {
        there.put(file, written.length());
      }
    }
    most = Math.max(most, there.values().stream().mapToLong(each -> each).sum());
  }

  private void begin() throws IOException {
    ssd = Files.createDirectories(temporary.resolve("ssd/blockmgr-1")).toFile();
    File disk = Files.createDirectories(temporary.resolve("disk/blockmgr-1")).toFile();
    File[] homes = {disk, ssd};
    TierPolicy policy = TierPolicy.parse("ssd max 40MB", "");
    List<TierFolders> tiers = Swap.tiers(policy, homes, List.of(), what -> {});
    placement = new Placement(policy, tiers, homes, 4, Placement.Readers.NOBODY, false, System::nanoTime);
  }

  static Stream<Long> seeds() {
    return Stream.iterate(1L, seed -> seed <= 60, seed -> seed + 1);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void randomTasksKeepToIt(long seed) throws Exception {
    begin();
    Random random = new Random(seed * 0x9E3779B97F4A7C15L);
    // From files that are small compared with the allowance to larger ones.
    long upTo = (long) (200_000 * Math.pow(500, random.nextDouble()));
    int width = random.nextInt(3) == 0 ? 1 + random.nextInt(20) : 1;
    int tasks = 2 + random.nextInt(3);
    List<Task> all = new ArrayList<>();
    try {
      for (int at = 0; at < tasks; at++) {
        all.add(new Task(at, seed, upTo, width));
      }
      for (int at = 0; at < 400; at++) {
        all.get(random.nextInt(tasks)).step();
        if (random.nextInt(3) == 0) {
          placement.look();
        }
        if (random.nextInt(20) == 0) {
          placement.sweep();
          long seen = placement.tiers().get(0).presentBytes();
          assertEquals(there.values().stream().mapToLong(each -> each).sum(), seen, "what is there is known");
        }
      }
    } finally {
      all.forEach(Task::close);
    }
    assertTrue(
        most <= ALLOWED + largest,
        tasks + " tasks, " + width + " files at once of up to " + upTo + " B: " + most + " B were there at most,"
            + " the largest file has " + largest + " B");
  }

  /** The allowance is also used. */
  @ParameterizedTest
  @ValueSource(ints = {100_000, 1_000_000, 5_000_000})
  void itIsUsed(int bytes) throws Exception {
    begin();
    for (int at = 0; at < 500; at++) {
      String name = "rdd_0_" + at;
      placement.taskBegins();
      grow(placement.locate(name), bytes);
      placement.taskEnds();
      placement.look();
    }
    assertTrue(most > ALLOWED - 2L * bytes && most <= ALLOWED, most + " B");
  }

  /** Two tasks begin concurrently with the largest files, of unknown kinds. */
  @ParameterizedTest
  @CsvSource({"100000000, 1", "30000000, 1", "1000000, 200", "3000000, 20"})
  void theFirstFilesKeepToIt(long bytes, int width) throws Exception {
    begin();
    placement.taskBegins();
    List<File> files = new ArrayList<>();
    for (int task = 0; task < 2; task++) {
      for (int at = 0; at < width; at++) {
        files.add(placement.locate("temp_shuffle_" + task + '-' + at));
      }
    }
    for (File file : files) {
      grow(file, bytes);
    }
    assertTrue(most > 0, "the tier is used");
    assertTrue(most <= ALLOWED + bytes, most + " B");
  }
}
