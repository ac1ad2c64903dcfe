package venturi.spark.tiers;

import java.io.File;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.TimeUnit;

/**
 * Where the files of one process lie: finds those that are there, chooses a directory for new ones.
 *
 * <p>A file has the same sub-directory on every tier; only the local directory differs. Its home is
 * where stock Spark looks for it: if it lies elsewhere and others read it, a link is left there.
 *
 * <p>No lock is held while the file system is asked. Knows nothing of Spark but how it names files.
 */
final class Placement {
  /** How long a tier that failed, or had no room where it said so, is passed over. */
  static final long PASSED_OVER_NS = TimeUnit.SECONDS.toNanos(60);

  /** A name that was asked for and never written is a question, not a file. */
  private static final long FORGOTTEN_NS = TimeUnit.MINUTES.toNanos(10);

  /** What asks only whether a file is there gets a decision, too. A writer begins at once. */
  private static final long ASKED_ONLY_NS = TimeUnit.SECONDS.toNanos(2);

  private static final long USABLE_KNOWN_NS = TimeUnit.MILLISECONDS.toNanos(20);

  /** Of directories in which a shuffle service deletes, as stock Spark has them. */
  private static final Set<PosixFilePermission> SHARED = PosixFilePermissions.fromString("rwxrwx---");

  private final TierPolicy policy;
  private final List<TierFolders> tiers;
  private final File[] homes;
  private final int[] tierOfHome;
  private final String[] subDirs;
  private final boolean links;
  private final KindSizes sizes = new KindSizes();
  private final ConcurrentMap<String, Decision> decisions = new ConcurrentHashMap<>();
  private final boolean shared;
  private long sweeps;

  /** Where a name goes, from the first question on until its file is complete. */
  static final class Decision {
    final File file;
    final int tier;
    final FileKind kind;
    final long madeNs = System.nanoTime();

    // What follows is the sweeps'.

    /** Bytes that are kept for it, beyond those that it has. */
    private long charged;

    /** Its bytes in the last sweep that saw it, and in the one before; which that was (0: none). */
    private long bytes;
    private long bytesBefore;
    private long seenIn;

    /** Whether it is still written under another name. */
    private boolean isUnderWay;

    Decision(File file, int tier, FileKind kind, long charged) {
      this.file = file;
      this.tier = tier;
      this.kind = kind;
      this.charged = charged;
    }
  }

  /**
   * @param tiers in the order in which they are filled; the last one takes everything
   * @param homes the local directories in the order in which stock code hashes over them, where one
   *     may be named more than once
   * @param links whether others look for files where stock code would have them
   * @param shared whether a service of another user deletes files
   */
  Placement(
      TierPolicy policy,
      List<TierFolders> tiers,
      File[] homes,
      int subDirs,
      boolean links,
      boolean shared) {
    this.policy = policy;
    this.tiers = List.copyOf(tiers);
    this.homes = homes.clone();
    this.links = links;
    this.shared = shared;
    this.tierOfHome = new int[homes.length];
    for (int at = 0; at < homes.length; at++) {
      int tier = 0;
      while (!tiers.get(tier).holds(homes[at])) {
        tier++;
      }
      tierOfHome[at] = tier;
    }
    this.subDirs = new String[subDirs];
    Arrays.setAll(this.subDirs, at -> String.format("%02x", at));
  }

  List<TierFolders> tiers() {
    return tiers;
  }

  /** Where the file {@code name} is, or is to be written. */
  File locate(String name) {
    Decision made = decisions.get(name);
    if (made != null) {
      return made.file;
    }
    File found = existing(name);
    return found != null ? found : decide(name);
  }

  /** The complete file {@code name}, or null. */
  File existing(String name) {
    int hash = hash(name);
    int home = hash % homes.length;
    for (int tier = 0; tier < tiers.size(); tier++) {
      if (tier != tierOfHome[home]) {
        File file = candidate(tier, hash, name);
        if (file.exists()) {
          return file;
        }
      }
    }
    File file = candidate(tierOfHome[home], hash, name);
    return file.exists() && !(links && Files.isSymbolicLink(file.toPath())) ? file : null;
  }

  /** Where stock Spark has the file {@code name}. */
  File home(String name) {
    int hash = hash(name);
    return within(homes[hash % homes.length], hash, name);
  }

  private File candidate(int tier, int hash, String name) {
    int home = hash % homes.length;
    return within(tierOfHome[home] == tier ? homes[home] : tiers.get(tier).folder(hash), hash, name);
  }

  private File within(File folder, int hash, String name) {
    String sub = subDirs[hash / homes.length % subDirs.length];
    return new File(folder.getPath() + File.separatorChar + sub + File.separatorChar + name);
  }

  /** As `JavaUtils.nonNegativeHash` of Spark. */
  private static int hash(String name) {
    int hash = name.hashCode();
    return hash == Integer.MIN_VALUE ? 0 : Math.abs(hash);
  }

  private File decide(String name) {
    FileKind kind = FileKind.of(name);
    long expected = sizes.mean(kind);
    int hash = hash(name);
    int last = tiers.size() - 1;
    for (int tier = 0; ; tier++) {
      TierFolders asked = tiers.get(tier);
      if (tier < last && !(asked.isWell() && hasRoom(tier, kind, expected))) {
        continue;
      }
      File file = candidate(tier, hash, name);
      if (!makeFolder(file.getParentFile()) && tier < last) {
        asked.release(expected);
        asked.failed(PASSED_OVER_NS);
        continue;
      }
      Decision mine = new Decision(file, tier, kind, tier < last ? expected : 0);
      Decision other = decisions.putIfAbsent(name, mine);
      if (other != null) {
        asked.release(mine.charged);
        return other.file;
      }
      Usage usage = asked.usage(kind);
      usage.placements.increment();
      if (tier > 0) {
        usage.overflowed(System.currentTimeMillis());
      }
      forward(name, hash, mine);
      return file;
    }
  }

  /** Whether it has; then its bytes are charged before anyone else asks. */
  private boolean hasRoom(int tier, FileKind kind, long expected) {
    TierFolders asked = tiers.get(tier);
    long usable = asked.usable(USABLE_KNOWN_NS);
    long before = asked.charge(expected);
    TierPolicy.Space space = new TierPolicy.Space(usable, asked.presentBytes(), before);
    if (policy.fits(asked.rule, kind, expected, space)) {
      return true;
    }
    asked.release(expected);
    return false;
  }

  /** Others look at home: nothing of an earlier decision is there, and a link where it is needed. */
  private void forward(String name, int hash, Decision made) {
    if (!links) {
      return;
    }
    Path home = within(homes[hash % homes.length], hash, name).toPath();
    try {
      if (Files.isSymbolicLink(home)) {
        Files.deleteIfExists(home);
      }
      boolean isRead = made.kind == FileKind.SHUFFLE || made.kind == FileKind.SHUFFLE_INDEX
          || made.kind == FileKind.CACHED;
      if (isRead && !home.equals(made.file.toPath())) {
        makeFolder(home.getParent().toFile());
        Files.createSymbolicLink(home, made.file.toPath());
      }
    } catch (FileAlreadyExistsException another) {
      // A thread that asked for the same name was first, and made the same decision.
    } catch (IOException error) {
      tiers.get(made.tier).failed(0); // others get the file over the network
    }
  }

  private boolean makeFolder(File folder) {
    if (folder.isDirectory()) {
      return true;
    }
    try {
      // Not its parent: where a disk was taken away, its mount point is on another one.
      Files.createDirectory(folder.toPath());
      if (shared) {
        Files.setPosixFilePermissions(folder.toPath(), SHARED);
      }
      return true;
    } catch (IOException error) {
      return folder.isDirectory();
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
        each.failed(PASSED_OVER_NS);
        forget(tier);
      }
    }
  }

  /** Looks at every file: what is there, what is complete, what is gone. */
  synchronized void sweep() {
    sweeps++;
    for (TierFolders tier : tiers) {
      new Sweep(this::saw, decisions::containsKey).take(tier);
    }
    long[][] open = new long[tiers.size()][FileKind.values().length];
    decisions.forEach((name, made) -> open[made.tier][made.kind.ordinal()] += settle(name, made));
    for (int tier = 0; tier < open.length; tier++) {
      for (FileKind kind : FileKind.values()) {
        tiers.get(tier).usage(kind).openBytes = open[tier][kind.ordinal()];
      }
    }
  }

  private void saw(String name, long bytes) {
    String finalName = FileKind.finalName(name);
    Decision made = decisions.get(finalName);
    if (made == null) {
      return;
    }
    if (made.seenIn != sweeps) {
      made.bytesBefore = made.bytes;
      made.bytes = 0;
      made.seenIn = sweeps;
      made.isUnderWay = false;
    }
    made.bytes += bytes;
    made.isUnderWay |= !name.equals(finalName);
  }

  /** The bytes so far of a file that may still grow; one that is complete or gone needs no decision. */
  private long settle(String name, Decision made) {
    boolean isThere = made.seenIn == sweeps;
    boolean grows = made.isUnderWay || made.bytes == 0 || made.bytes != made.bytesBefore;
    if (isThere && grows) {
      recharge(made, Math.max(0, sizes.mean(made.kind) - made.bytes));
      return made.bytes;
    }
    long ageNs = System.nanoTime() - made.madeNs;
    if (made.seenIn > 0) {
      sizes.learn(made.kind, made.bytes);
      tiers.get(made.tier).usage(made.kind).settledBytes.add(made.bytes);
      drop(name, made);
    } else if (ageNs > FORGOTTEN_NS) {
      drop(name, made);
    } else if (ageNs > ASKED_ONLY_NS) {
      recharge(made, 0);
    }
    return 0;
  }

  private void drop(String name, Decision made) {
    if (decisions.remove(name, made)) {
      recharge(made, 0);
    }
  }

  private void recharge(Decision made, long bytes) {
    if (made.tier < tiers.size() - 1) {
      tiers.get(made.tier).release(made.charged - bytes);
      made.charged = bytes;
    }
  }

  /** Takes back what was decided for files that are not there. */
  private synchronized void forget(int tier) {
    decisions.forEach(
        (name, made) -> {
          if (made.tier == tier && !made.file.exists()) {
            drop(name, made);
          }
        });
  }
}
