package venturi.spark.tiers;

import java.io.File;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.LongSupplier;

/**
 * The placement of one process's files: finds existing files, chooses a directory for new ones.
 *
 * <p>A file has the same sub-directory on every tier; only the local directory differs. Its home is
 * the place where stock Spark expects it: if it lies elsewhere and other processes read it, a link
 * is left there.
 *
 * <p>A request for a place never waits for another that queries the file system. Knows nothing of
 * Spark except its file names.
 */
final class Placement {
  /** How long a tier that failed, or had no room where it said so, is passed over. */
  private static final long PASSED_OVER_NS = TimeUnit.SECONDS.toNanos(60);

  private static final long USABLE_KNOWN_NS = TimeUnit.MILLISECONDS.toNanos(20);

  /** Of directories in which a shuffle service deletes, as stock Spark has them. */
  private static final Set<PosixFilePermission> SHARED = PosixFilePermissions.fromString("rwxrwx---");

  private final Room room;
  private final List<TierFolders> tiers;
  private final File[] homes;
  private final int[] tierOfHome;
  private final String[] subDirs;
  private final Readers readers;
  private final KindSizes sizes = new KindSizes();
  private final OpenFiles open;
  private final ThreadLocal<OpenFile.Task> task = new ThreadLocal<>();
  private final boolean shared;
  private final LongSupplier nowNs;

  private final PlacedNames placed = new PlacedNames();

  /** Whether others know where to look for shuffle files, and may do so. */
  private volatile boolean isLookedFor;

  /** Who else looks for files, where stock Spark would have them. */
  enum Readers {
    NOBODY,
    /** Executors of this host: for shuffle files, when they have asked where. A cached block they get over the network. */
    PEERS,
    /** A shuffle service, which knows the local directories. */
    SERVICE,
    /** One that serves cached blocks, too. */
    SERVICE_WITH_BLOCKS
  }

  /** The bytes that files of a kind may still take of a tier; negative: it is over its limit. */
  @FunctionalInterface
  interface Room {
    long of(TierPolicy.Tier asked, FileKind kind, TierPolicy.Space space);
  }

  /**
   * Existing sub-directories, by local directory. Threads may see one too late, and make it again.
   */
  private final Map<File, boolean[]> made = new HashMap<>();

  /**
   * @param tiers in the order in which they are filled; the last one takes everything
   * @param homes the local directories in the order in which stock code hashes over them, where one
   *     may be named more than once
   * @param readers others, for whom links are left
   * @param shared whether a service of another user deletes files
   * @param nowNs the clock, as {@code System.nanoTime}, of how long a tier is passed over
   */
  Placement(
      TierPolicy policy,
      List<TierFolders> tiers,
      File[] homes,
      int subDirs,
      Readers readers,
      boolean shared,
      LongSupplier nowNs) {
    this.room = policy::room;
    this.tiers = List.copyOf(tiers);
    this.open = new OpenFiles(this.tiers, sizes);
    this.homes = homes.clone();
    this.readers = readers;
    this.isLookedFor = readers == Readers.SERVICE || readers == Readers.SERVICE_WITH_BLOCKS;
    this.shared = shared;
    this.nowNs = nowNs;
    this.tierOfHome = new int[homes.length];
    for (int at = 0; at < homes.length; at++) {
      int tier = 0;
      while (!tiers.get(tier).holds(homes[at])) {
        tier++;
      }
      tierOfHome[at] = tier;
    }
    for (TierFolders tier : this.tiers) {
      tier.folders().forEach(each -> made.put(each, new boolean[subDirs]));
    }
    this.subDirs = new String[subDirs];
    Arrays.setAll(this.subDirs, at -> String.format("%02x", at));
  }

  List<TierFolders> tiers() {
    return tiers;
  }

  /** Makes files that other processes put there known from now on. */
  void noteWhatIsThere() {
    forEachThere((tier, file) -> placed.add(hash(file.getName())));
  }

  private void forEachThere(BiConsumer<TierFolders, File> use) {
    for (TierFolders tier : tiers) {
      for (File folder : tier.folders()) {
        for (File sub : Objects.requireNonNullElse(folder.listFiles(), new File[0])) {
          for (File file : Objects.requireNonNullElse(sub.listFiles(), new File[0])) {
            use.accept(tier, file);
          }
        }
      }
    }
  }

  /** Where the file {@code name} is, or is to be written. */
  File locate(String name) {
    OpenFile made = open.get(name);
    if (made != null) {
      return made.file;
    }
    File found = existing(name);
    return found != null ? found : decide(name);
  }

  /**
   * Called when other processes request the location of shuffle files: from now on they find them
   * there, including earlier ones. Until then no links are made, because that takes time on a slow
   * disk.
   */
  synchronized void othersAsk() {
    if (readers == Readers.NOBODY || isLookedFor) {
      return;
    }
    isLookedFor = true;
    // In this order, because a file that is no longer open exists.
    open.all().forEach(each -> link(each.file, each.kind, each.tier));
    forEachThere(
        (tier, file) -> {
          String name = file.getName();
          if (FileKind.finalName(name).equals(name) && !Files.isSymbolicLink(file.toPath())) {
            link(file, FileKind.of(name), tier);
          }
        });
  }

  /** The complete file {@code name}, or null. */
  File existing(String name) {
    int hash = hash(name);
    if (!placed.mayHave(hash)) {
      return null;
    }
    int home = tierOfHome[hash % homes.length];
    for (int tier = 0; tier < tiers.size(); tier++) {
      File file = candidate(tier, hash, name);
      // At home there may be a link to the file, which is on another tier.
      boolean mayBeLink = tier == home && readers != Readers.NOBODY;
      if (file.exists() && !(mayBeLink && Files.isSymbolicLink(file.toPath()))) {
        return file;
      }
    }
    return null;
  }

  /** Where stock Spark has the file {@code name}. */
  File home(String name) {
    int hash = hash(name);
    return within(homes[hash % homes.length], hash, name);
  }

  private File candidate(int tier, int hash, String name) {
    return within(folder(tier, hash), hash, name);
  }

  /** The local directory that a name with {@code hash} has on a tier. */
  private File folder(int tier, int hash) {
    int home = hash % homes.length;
    return tierOfHome[home] == tier ? homes[home] : tiers.get(tier).folder(hash);
  }

  private File within(File folder, int hash, String name) {
    return new File(folder.getPath() + File.separatorChar + subDirs[sub(hash)] + File.separatorChar + name);
  }

  private int sub(int hash) {
    return hash / homes.length % subDirs.length;
  }

  /** As `JavaUtils.nonNegativeHash` of Spark. */
  private static int hash(String name) {
    int hash = name.hashCode();
    return hash == Integer.MIN_VALUE ? 0 : Math.abs(hash);
  }

  private File decide(String name) {
    FileKind kind = FileKind.of(name);
    int hash = hash(name);
    int last = tiers.size() - 1;
    for (int tier = 0; ; tier++) {
      TierFolders asked = tiers.get(tier);
      OpenFile.Task asking = task.get();
      long charged = asked.isBounded() ? charge(asked, kind, asking != null) : 0;
      if (charged < 0) {
        continue;
      }
      if (!makeFolder(folder(tier, hash), sub(hash)) && tier < last) {
        asked.release(charged);
        asked.failed(nowNs.getAsLong() + PASSED_OVER_NS);
        continue;
      }
      File file = candidate(tier, hash, name);
      placed.add(hash);
      OpenFile mine = new OpenFile(name, file, asked, kind, asking, charged);
      OpenFile other = open.add(mine);
      if (other != null) {
        asked.release(charged);
        return other.file;
      }
      if (asking != null && kind == FileKind.SPILL) {
        asking.spills(mine);
      }
      Usage usage = asked.usage(kind);
      usage.placements.increment();
      if (tier > 0) {
        usage.overflowed(System.currentTimeMillis());
      }
      link(file, kind, asked);
      return file;
    }
  }

  /**
   * The bytes to reserve now for a file of {@code kind}; negative: the tier accepts none. A name
   * that no task requested reserves nothing until a sweep sees the file, because it is usually
   * never written.
   */
  private long charge(TierFolders asked, FileKind kind, boolean isOfTask) {
    if (!asked.isWell(nowNs.getAsLong())) {
      return -1;
    }
    while (true) {
      // Before what is usable and present: a look moves bytes from here to there.
      long before = asked.charged();
      TierPolicy.Space space =
          new TierPolicy.Space(asked.usable(USABLE_KNOWN_NS), asked.presentBytes(), before);
      long left = room.of(asked.rule, kind, space);
      long wanted = sizes.wanted(kind, left);
      if (wanted > left) {
        return -1;
      }
      if (!isOfTask) {
        return 0;
      }
      if (asked.charge(before, wanted)) {
        return wanted;
      }
    }
  }

  /** Where others look for {@code file}, a link to it, and none of an earlier decision. */
  private void link(File file, FileKind kind, TierFolders tier) {
    if (!isLinked(kind)) {
      return;
    }
    int hash = hash(file.getName());
    File folder = homes[hash % homes.length];
    Path home = within(folder, hash, file.getName()).toPath();
    try {
      if (Files.isSymbolicLink(home)) {
        Files.deleteIfExists(home);
      }
      if (!home.equals(file.toPath())) {
        makeFolder(folder, sub(hash));
        Files.createSymbolicLink(home, file.toPath());
      }
    } catch (FileAlreadyExistsException another) {
      // Another thread requested the same name first, and made the same decision.
    } catch (IOException error) {
      tier.errors.increment(); // who looks for it there has what it is a part of made again
    }
  }

  private boolean isLinked(FileKind kind) {
    return switch (kind) {
      case SHUFFLE, SHUFFLE_INDEX -> isLookedFor;
      case CACHED -> readers == Readers.SERVICE_WITH_BLOCKS;
      case SPILL, OTHER -> false;
    };
  }

  private boolean makeFolder(File folder, int sub) {
    boolean[] known = made.get(folder);
    if (known[sub]) {
      return true; // a disk that is gone has no usable space
    }
    Path path = Path.of(folder.getPath(), subDirs[sub]);
    try {
      // Not its parent: where a disk was taken away, its mount point is on another one.
      Files.createDirectory(path);
      if (shared) {
        Files.setPosixFilePermissions(path, SHARED);
      }
    } catch (IOException error) {
      if (!Files.isDirectory(path)) {
        return false;
      }
    }
    known[sub] = true;
    return true;
  }

  /** This thread asks for a task from now on. */
  void taskBegins() {
    task.set(new OpenFile.Task());
  }

  /** The files that this thread requested are complete, or will never exist. */
  void taskEnds() {
    OpenFile.Task ended = task.get();
    if (ended != null) {
      ended.hasEnded = true;
      task.remove();
    }
  }

  /**
   * A task failed with {@code message}. A tier that it names, or one without room, is passed over for
   * a while, so that the next attempt goes elsewhere.
   */
  void taskFailed(String message) {
    boolean full = message.contains("No space left on device") || message.contains("Disk quota exceeded");
    boolean broken = message.contains("Read-only file system") || message.contains("Input/output error")
        || message.contains("No such file or directory") || message.contains("NoSuchFileException");
    for (int tier = 0; tier < tiers.size() - 1; tier++) {
      TierFolders each = tiers.get(tier);
      boolean named = each.isNamedIn(message);
      boolean noRoom = full && (named || each.usable(0) < sizes.largest());
      if (noRoom || broken && named || named && !each.isWritable()) {
        each.failed(nowNs.getAsLong() + PASSED_OVER_NS);
        open.forget(each);
      }
    }
  }

  /**
   * {@code temporary}, in the folder of {@code file}, is written first, and renamed when it is
   * complete.
   */
  void writes(File file, File temporary) {
    open.writes(file.getName(), temporary);
  }

  /** Checks every file: present, complete or gone. */
  void sweep() {
    open.sweep();
  }

  /** Looks at the files that are being written. */
  void look() {
    open.look();
  }
}
