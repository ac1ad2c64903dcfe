package venturi.spark.tiers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class PlacementTest {
  private static final String UUID = ".8f14e45f-ceea-467f-a8f4-2b1c3d4e5f60";

  @TempDir Path temporary;
  private File ssd;
  private File[] homes;

  /** How far the clock of pauses is ahead. */
  private final AtomicLong aheadNs = new AtomicLong();

  @BeforeEach
  void makeFolders() throws IOException {
    ssd = folder("ssd");
    homes = new File[] {folder("disk0"), folder("disk1"), ssd, folder("disk2")};
  }

  private File folder(String name) throws IOException {
    return Files.createDirectories(temporary.resolve(name).resolve("blockmgr-1")).toFile();
  }

  private Placement placement(String tiers) {
    return placement(tiers, Placement.Readers.NOBODY);
  }

  private Placement placement(String tiers, Placement.Readers readers) {
    TierPolicy policy = TierPolicy.parse(tiers, "");
    List<TierFolders> found = Swap.tiers(policy, homes, List.of(), what -> {});
    Placement made = new Placement(policy, found, homes, 64, readers, false, () -> System.nanoTime() + aheadNs.get());
    made.taskBegins();
    return made;
  }

  private boolean isFast(File file) {
    return file.toPath().startsWith(ssd.toPath());
  }

  private static void write(File file, int bytes) throws IOException {
    try (RandomAccessFile written = new RandomAccessFile(file, "rw")) {
      written.setLength(bytes); // takes no space, and has the length all the same
    }
  }

  /** The second sweep sees that finished files no longer change. */
  private static void sweep(Placement placement) {
    placement.sweep();
    placement.sweep();
  }

  /** The files requested so far are complete, or will never exist. */
  private static void settle(Placement placement) {
    placement.taskEnds();
    sweep(placement);
    placement.taskBegins();
  }

  @Test
  void fillsTheFastTierThenTheOther() throws IOException {
    Placement placement = placement("ssd max 60MB");
    List<Boolean> fast = new ArrayList<>();
    for (int at = 0; at < 10; at++) {
      File file = placement.locate("rdd_0_" + at);
      write(file, 10_000_000);
      settle(placement);
      fast.add(isFast(file));
    }
    long placed = fast.stream().filter(each -> each).count();
    // Of few files the largest says little: some room stays free at first.
    assertTrue(placed >= 4 && placed <= 6, fast.toString());
    Usage slow = placement.tiers().get(1).usage(FileKind.CACHED);
    assertEquals(10 - placed, slow.overflows.sum());
    assertTrue(slow.firstOverflowMs.get() > 0);
  }

  @Test
  void keepsADecisionWhenTheThresholdIsCrossed() throws IOException {
    Placement placement = placement("ssd max 20MB");
    File asked = placement.locate("shuffle_0_7_0.data");
    assertTrue(isFast(asked));
    write(placement.locate("shuffle_0_7_0.data" + UUID), 1); // a name of its own
    write(new File(asked.getPath() + UUID), 30_000_000); // Spark's own temporary file
    sweep(placement);
    assertFalse(isFast(placement.locate("shuffle_0_8_0.data")));
    assertEquals(asked, placement.locate("shuffle_0_7_0.data"));
  }

  @Test
  void findsWhatIsThereOnAnyTier() throws IOException {
    Placement placement = placement("ssd max 1kB");
    File slow = placement.locate("rdd_1_1");
    assertFalse(isFast(slow));
    write(slow, 10);
    settle(placement);
    assertEquals(slow, placement.existing("rdd_1_1"));
    assertEquals(slow, placement.locate("rdd_1_1"));
    assertNull(placement.existing("rdd_1_2"));
  }

  @Test
  void findsWhatWasThereBefore() throws IOException {
    File before = placement("ssd max 1B").locate("rdd_1_1");
    write(before, 10);
    Placement placement = placement("ssd 1B");
    placement.noteWhatIsThere();
    assertEquals(before, placement.locate("rdd_1_1"));
    assertTrue(isFast(placement.locate("rdd_1_2")));
  }

  @Test
  void takesOneFileAtATimeAsLongAsSizesAreNotKnown() throws IOException {
    Placement placement = placement("ssd max 50MiB");
    File first = placement.locate("temp_local_1");
    assertTrue(isFast(first));
    assertFalse(isFast(placement.locate("temp_local_2")), "the first one may need all that there is");
    write(first, 1_000_000);
    settle(placement);
    assertTrue(isFast(placement.locate("temp_local_3")), "that one is complete: it was not so large");
  }

  @Test
  void takesNothingOfUnknownSizeWhereThereIsHardlyRoom() {
    Placement placement = placement("ssd max 1MB");
    assertFalse(isFast(placement.locate("temp_local_1")));
  }

  @Test
  void chargesFilesThatAreBeingWritten() throws IOException {
    Placement placement = placement("ssd max 50MiB");
    complete(placement, 100, 10 << 20);
    long fast = Stream.of(1, 2, 3, 4, 5, 6).filter(at -> isFast(placement.locate("temp_local_" + at))).count();
    assertEquals(4, fast); // of 10 MiB and a little
    sweep(placement);
    assertTrue(placement.tiers().get(0).charged() >= 40 << 20);
  }

  @Test
  void chargesLessAsAFileGrowsAndMoreIfItOutgrowsAll() throws IOException {
    Placement placement = placement("ssd max 500MB");
    complete(placement, 100, 10_000_000);
    TierFolders fast = placement.tiers().get(0);
    File file = placement.locate("temp_local_1");
    long expected = fast.charged();
    write(file, 4_000_000);
    placement.look();
    assertEquals(expected, fast.charged() + fast.presentBytes());
    write(file, 20_000_000);
    placement.look();
    assertEquals(20_000_000, fast.presentBytes());
    assertEquals(KindSizes.UNKNOWN - 20_000_000, fast.charged(), "nobody knows where it ends");
    settle(placement);
    assertEquals(20_000_000, fast.presentBytes());
    assertEquals(0, fast.charged());
  }

  @Test
  void whatATaskAskedForIsCompleteWhenItEnds() throws IOException {
    Placement placement = placement("ssd max 40MB");
    File file = placement.locate("rdd_0_0");
    write(file, 1_000_000);
    placement.locate("rdd_0_1"); // never written
    sweep(placement);
    assertFalse(isFast(placement.locate("rdd_0_2")), "it may rest, and go on");
    placement.taskEnds();
    placement.look();
    TierFolders fast = placement.tiers().get(0);
    assertEquals(0, fast.charged());
    assertEquals(1_000_000, fast.presentBytes());
    assertTrue(isFast(placement.locate("rdd_0_3")));
  }

  @Test
  void whatIsRenamedIsComplete() throws IOException {
    Placement placement = placement("ssd max 40MB");
    File file = placement.locate("shuffle_0_0_0.data");
    File other = new File(file.getPath() + UUID);
    placement.writes(file, other);
    write(other, 1_000_000);
    sweep(placement);
    TierFolders fast = placement.tiers().get(0);
    assertTrue(fast.charged() > 0);
    assertEquals(1_000_000, fast.presentBytes());
    assertTrue(other.renameTo(file));
    placement.look();
    assertEquals(0, fast.charged());
    assertEquals(1_000_000, fast.presentBytes());
  }

  /** A map task with a single spill renames it; with more, or from another disk, it writes once more. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aSpillThatBecomesAShuffleFileCountsOnce(boolean isSeenAtOnce) throws IOException {
    Placement placement = placement("ssd 0B");
    placement.taskBegins();
    for (int map = 0; map < 2; map++) {
      File spill = placement.locate("temp_shuffle_" + map);
      write(spill, 1_000);
      placement.look();
      File data = placement.locate("shuffle_0_" + map + "_0.data");
      File written = new File(data.getPath() + UUID);
      if (map == 0) { // Spark does not say where it moves it to
        Files.move(spill.toPath(), written.toPath());
      } else {
        placement.writes(data, written);
        Files.copy(spill.toPath(), written.toPath(), StandardCopyOption.COPY_ATTRIBUTES);
        assertTrue(spill.delete());
      }
      if (isSeenAtOnce) {
        placement.look();
      }
      assertTrue(written.renameTo(data));
      placement.look();
    }
    placement.taskEnds();
    placement.look();
    TierFolders fast = placement.tiers().get(0);
    assertEquals(1_000, fast.usage(FileKind.SPILL).settledBytes.sum());
    assertEquals(2_000, fast.usage(FileKind.SHUFFLE).settledBytes.sum());
  }

  /** Room is kept for the spill that a task writes, not for those that it wrote before. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aSpillIsCompleteWhenItsTaskAsksForTheNext(boolean isOneAfterAnother) throws IOException {
    Placement placement = placement("ssd max 10MB");
    placement.taskBegins();
    File first = placement.locate("temp_shuffle_0");
    if (isOneAfterAnother) {
      write(first, 1_000);
    }
    File second = placement.locate("temp_shuffle_1");
    write(first, 1_000);
    placement.look();
    assertFalse(isFast(second), "of a first file nobody knows how large it becomes");
    assertEquals(isOneAfterAnother, isFast(placement.locate("temp_shuffle_2")));
    placement.taskEnds();
  }

  @Test
  void aSpillThatIsGoneBeforeAnyLookKeepsNoRoom() throws IOException {
    Placement placement = placement("ssd max 10MB");
    placement.taskBegins();
    File first = placement.locate("temp_shuffle_0");
    write(first, 1_000);
    placement.locate("temp_shuffle_1");
    assertTrue(first.delete());
    placement.look();
    assertTrue(isFast(placement.locate("temp_shuffle_2")));
    placement.taskEnds();
  }

  /** `count` files of `bytes`, one after another, that are gone. */
  private static void complete(Placement placement, int count, int bytes) throws IOException {
    for (int at = 0; at < count; at++) {
      File file = placement.locate("temp_local_complete_" + at);
      write(file, bytes);
      placement.look();
      assertTrue(file.delete());
      placement.look();
    }
  }

  @Test
  void givesSpaceBackWhenAFileIsDeleted() throws IOException {
    Placement placement = placement("ssd max 20MB");
    complete(placement, 100, 19_000_000);
    File first = placement.locate("temp_local_0");
    assertTrue(isFast(first));
    write(first, 19_000_000);
    settle(placement);
    assertFalse(isFast(placement.locate("temp_local_1")));
    assertTrue(first.delete());
    settle(placement);
    assertTrue(isFast(placement.locate("temp_local_2")));
  }

  @Test
  void learnsSizes() throws IOException {
    Placement placement = placement("ssd max 40MB");
    for (int at = 0; at < 60; at++) {
      File file = placement.locate("temp_shuffle_" + at);
      write(file, 1000);
      settle(placement);
      assertTrue(file.delete());
    }
    settle(placement);
    long fast = Stream.iterate(100, at -> at < 130, at -> at + 1)
        .filter(at -> isFast(placement.locate("temp_shuffle_" + at)))
        .count();
    assertEquals(30, fast);
  }

  /** The removal of a block queries its place, even if it never was on disk. */
  @Test
  void whatNoTaskAsksForKeepsNoRoomUntilItIsThere() throws IOException {
    Placement placement = placement("ssd max 20MB");
    placement.taskEnds();
    TierFolders fast = placement.tiers().get(0);
    for (int at = 0; at < 200; at++) {
      assertTrue(isFast(placement.locate("rdd_5_" + at)));
    }
    placement.look();
    assertEquals(0, fast.charged());
    write(placement.locate("rdd_5_5"), 1_000);
    placement.look();
    assertTrue(fast.charged() > 0, "its writer may go on");
    sweep(placement);
    assertEquals(0, fast.charged());
  }

  /** Spark asks again before it renames: on another disk that would fail. */
  @Test
  void aTaskThatFailsTakesNoPlaceAwayFromOthers() throws Exception {
    Placement placement = placement("ssd 1kB");
    File mine = placement.locate("shuffle_0_1_0.data");
    File written = new File(mine.getPath() + UUID);
    placement.writes(mine, written);
    write(written, 10);
    Thread other = new Thread(() -> {
      placement.taskBegins();
      File its = placement.locate("shuffle_0_2_0.data");
      placement.taskEnds();
      placement.taskFailed("java.io.IOException: No space left on device: " + its);
    });
    other.start();
    other.join();
    assertFalse(isFast(placement.locate("shuffle_0_2_0.data")));
    assertEquals(mine, placement.locate("shuffle_0_1_0.data"));
    assertTrue(written.renameTo(mine));
    settle(placement);
    assertEquals(mine, placement.locate("shuffle_0_1_0.data"));
  }

  @Test
  void passesOverATierWithoutRoom() throws IOException {
    Placement placement = placement("ssd 1kB");
    File first = placement.locate("shuffle_0_0_0.data");
    assertTrue(isFast(first));
    placement.taskEnds();
    placement.taskFailed("java.io.IOException: No space left on device: " + first);
    assertFalse(isFast(placement.locate("shuffle_0_0_0.data")), "the next attempt goes elsewhere");
    assertEquals(1, placement.tiers().get(0).errors.sum());
    placement.taskFailed("java.lang.ArithmeticException");
    assertEquals(1, placement.tiers().get(0).errors.sum());
  }

  /** Passed over now and half a minute later, whatever it was; used again when the minute is over. */
  @ParameterizedTest
  @ValueSource(strings = {"No space left on device", "Read-only file system"})
  void aTierThatFailedIsUsedAgainAfterAMinute(String what) throws IOException {
    Placement placement = placement("ssd 1kB");
    File first = placement.locate("shuffle_0_0_0.data");
    assertTrue(isFast(first));
    placement.taskEnds();
    placement.taskFailed("java.io.IOException: " + what + ": " + first);
    assertFalse(isFast(placement.locate("shuffle_0_1_0.data")));
    aheadNs.set(TimeUnit.SECONDS.toNanos(30));
    File meanwhile = placement.locate("shuffle_0_2_0.data");
    assertFalse(isFast(meanwhile));
    aheadNs.set(TimeUnit.SECONDS.toNanos(60));
    assertTrue(isFast(placement.locate("shuffle_0_3_0.data")));
    assertEquals(meanwhile, placement.locate("shuffle_0_2_0.data"), "what has a place keeps it");
    assertEquals(1, placement.tiers().get(0).errors.sum());
  }

  @Test
  void goesOnWithoutADiskThatIsGone() throws IOException, InterruptedException {
    Placement placement = placement("ssd 1kB");
    assertTrue(isFast(placement.locate("rdd_0_0")));
    try (Stream<Path> all = Files.walk(ssd.toPath())) {
      all.sorted(java.util.Comparator.reverseOrder()).forEach(each -> each.toFile().delete());
    }
    Thread.sleep(21); // usable space is cached for 20 ms
    assertFalse(isFast(placement.locate("rdd_0_1")));
    assertFalse(ssd.exists(), "where a disk was mounted nothing is made");
  }

  @Test
  void leavesLinksWhereOthersLook() throws IOException {
    Placement placement = placement("ssd 1kB", Placement.Readers.SERVICE);
    for (int at = 0; at < 8; at++) {
      String name = "shuffle_0_" + at + "_0.data";
      File file = placement.locate(name);
      write(file, 10 + at);
      assertTrue(isFast(file));
      assertEquals(10 + at, Files.size(placement.home(name).toPath()));
      settle(placement);
      assertEquals(file, placement.locate(name));
    }
    File spill = placement.locate("temp_local_1");
    assertTrue(isFast(spill));
    assertFalse(Files.isSymbolicLink(placement.home("temp_local_1").toPath()));
  }

  /** The file is written nevertheless; the missing link is counted as an error. */
  @Test
  void aLinkThatCannotBeMadeIsAnError() throws IOException {
    Placement placement = placement("ssd 1kB", Placement.Readers.SERVICE);
    for (File home : homes) {
      assertTrue(home == ssd || home.delete());
    }
    int lost = 0;
    for (int at = 0; at < 8; at++) {
      String name = "shuffle_0_" + at + "_0.data";
      File file = placement.locate(name);
      assertTrue(isFast(file));
      write(file, 10);
      lost += placement.home(name).exists() ? 0 : 1;
    }
    assertTrue(lost > 0);
    assertEquals(lost, placement.tiers().get(0).errors.sum());
  }

  /** Complete and unfinished files are found on request; no link is made before. */
  @Test
  void leavesLinksForPeersOfShuffleFilesWhenTheyAsk() throws IOException {
    Placement placement = placement("ssd 1kB", Placement.Readers.PEERS);
    List<String> names = new ArrayList<>();
    for (int at = 0; at < 8; at++) {
      File file = placement.locate("shuffle_0_" + at + "_0.data");
      names.add(file.getName());
      if (at < 4) {
        write(file, 10 + at);
      }
    }
    settle(placement);
    for (File home : homes) {
      assertEquals(home == ssd, home.list().length > 0, "slow disks are left alone");
    }
    placement.othersAsk();
    names.add(placement.locate("shuffle_1_0_0.index").getName());
    for (int at = 4; at < names.size(); at++) {
      write(placement.locate(names.get(at)), 10 + at);
    }
    for (String name : names) {
      assertTrue(isFast(placement.locate(name)));
      assertEquals(10 + names.indexOf(name), Files.size(placement.home(name).toPath()));
    }
  }

  @ParameterizedTest
  @EnumSource(Placement.Readers.class)
  void leavesLinksOfCachedBlocksOnlyForAServiceThatServesThem(Placement.Readers readers) throws IOException {
    Placement placement = placement("ssd 1kB", readers);
    placement.othersAsk();
    for (int at = 0; at < 8; at++) {
      String name = "rdd_0_" + at;
      File file = placement.locate(name);
      write(file, 10);
      assertEquals(file, placement.locate(name));
    }
    boolean linked = readers == Placement.Readers.SERVICE_WITH_BLOCKS;
    for (File home : homes) {
      assertEquals(linked || home == ssd, home.list().length > 0, "slow disks are left alone");
    }
    for (int at = 0; linked && at < 8; at++) {
      assertEquals(10, Files.size(placement.home("rdd_0_" + at).toPath()));
    }
  }

  @Test
  void writesThroughNoLinkOfAnEarlierDecision() throws IOException {
    Placement placement = placement("ssd 1kB", Placement.Readers.SERVICE);
    String name = "shuffle_0_1_0.data";
    File fast = placement.locate(name);
    assertTrue(Files.isSymbolicLink(placement.home(name).toPath()));
    placement.taskEnds();
    placement.taskFailed("No space left on device: " + fast);
    File slow = placement.locate(name);
    write(slow, 5);
    assertFalse(fast.exists());
    assertEquals(5, Files.size(placement.home(name).toPath()));
  }

  @Test
  void threadsThatAskForOneNameGetOnePlace() throws InterruptedException, IOException {
    Placement placement = placement("ssd max 100MB");
    complete(placement, 100, 16 << 20);
    placement.locate("temp_local_0");
    long each = placement.tiers().get(0).charged();
    Map<Integer, File> found = new java.util.concurrent.ConcurrentHashMap<>();
    CountDownLatch begin = new CountDownLatch(1);
    List<Thread> threads = new ArrayList<>();
    for (int at = 0; at < 8; at++) {
      int number = at;
      threads.add(
          new Thread(
              () -> {
                placement.taskBegins();
                try {
                  begin.await();
                } catch (InterruptedException never) {
                  return;
                }
                for (int name = 0; name < 200; name++) {
                  found.merge(
                      name,
                      placement.locate("temp_local_" + name),
                      (one, other) -> one.equals(other) ? one : new File("differs " + number));
                }
              }));
    }
    threads.forEach(Thread::start);
    begin.countDown();
    for (Thread thread : threads) {
      thread.join();
    }
    assertEquals(200, found.values().stream().filter(File::isAbsolute).count());
    long fast = found.values().stream().filter(this::isFast).count();
    assertEquals(100_000_000 / each, fast, "no more than is allowed, whoever asks");
    assertEquals(fast * each, placement.tiers().get(0).charged());
  }

  @Test
  void aThousandTasksOfAThousandPartitions() throws IOException {
    Placement placement = placement("ssd max 40MB");
    complete(placement, 100, 1_000);
    for (int task = 0; task < 1_000; task++) {
      placement.taskBegins();
      for (int partition = 0; partition < 1_000; partition++) {
        placement.locate("temp_local_" + task + '_' + partition);
      }
      write(placement.locate("shuffle_0_" + task + "_0.data"), 100_000);
      placement.taskEnds();
      placement.look();
    }
    placement.sweep();
    TierFolders fast = placement.tiers().get(0);
    assertEquals(0, fast.charged());
    assertTrue(fast.presentBytes() > 38_000_000 && fast.presentBytes() <= 40_000_000, fast.presentBytes() + " B");
    Usage shuffle = placement.tiers().get(1).usage(FileKind.SHUFFLE);
    assertEquals(1_000, shuffle.presentFiles() + fast.usage(FileKind.SHUFFLE).presentFiles());
  }
}
