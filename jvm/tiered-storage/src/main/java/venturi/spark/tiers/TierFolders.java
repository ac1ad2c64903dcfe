package venturi.spark.tiers;

import java.io.File;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;

/** The local directories of one tier, and their known free space, in bytes. */
final class TierFolders {
  /** The name of the directories without a keyword. */
  static final String LAST = "last";

  /** Its rule; null for the directories without a keyword. */
  final TierPolicy.Tier rule;

  /** Times that something could not be written there. */
  final LongAdder errors = new LongAdder();

  private final List<File> folders;
  private final boolean isBounded;
  private final Map<FileKind, Usage> usages = new EnumMap<>(FileKind.class);
  private final AtomicLong charged = new AtomicLong();
  private volatile long passedOverUntilNs = System.nanoTime();
  private volatile Known usable = new Known(0, System.nanoTime() - (1L << 62));

  private record Known(long bytes, long atNs) {}

  /** @param isBounded whether the rule holds: the last tier takes everything */
  TierFolders(TierPolicy.Tier rule, List<File> folders, boolean isBounded) {
    this.rule = rule;
    this.isBounded = isBounded;
    this.folders = List.copyOf(folders);
    for (FileKind kind : FileKind.values()) {
      usages.put(kind, new Usage());
    }
  }

  /** As metrics and events name it. */
  String name() {
    return rule == null ? LAST : rule.keyword();
  }

  boolean isBounded() {
    return isBounded;
  }

  List<File> folders() {
    return folders;
  }

  boolean holds(File folder) {
    return folders.contains(folder);
  }

  /** The one that a name with {@code hash} is in. */
  File folder(int hash) {
    return folders.get(hash % folders.size());
  }

  Usage usage(FileKind kind) {
    return usages.get(kind);
  }

  /** Free space of its fullest directory, from the file system at most {@code ageNs} ago. */
  long usable(long ageNs) {
    Known known = usable;
    long nowNs = System.nanoTime();
    if (nowNs - known.atNs() > ageNs) {
      long least = folders.stream().mapToLong(File::getUsableSpace).min().orElse(0);
      known = new Known(least, nowNs);
      usable = known;
    }
    return known.bytes();
  }

  /** Bytes of our files here, when they were looked at last. */
  long presentBytes() {
    long found = 0;
    for (Usage each : usages.values()) {
      found += each.presentBytes();
    }
    return found;
  }

  /** Our complete files, of each kind: a copy. */
  Map<FileKind, Usage.Files> complete() {
    Map<FileKind, Usage.Files> found = Usage.none();
    usages.forEach((kind, usage) -> found.put(kind, usage.complete()));
    return found;
  }

  void set(Map<FileKind, Usage.Files> complete, Map<FileKind, Usage.Files> open) {
    usages.forEach((kind, usage) -> usage.set(complete.get(kind), open.get(kind)));
  }

  long charged() {
    return charged.get();
  }

  /** Keeps {@code bytes} more for a file that is to be written; false: {@code before} is no longer what is kept. */
  boolean charge(long before, long bytes) {
    return charged.compareAndSet(before, before + bytes);
  }

  void release(long bytes) {
    charged.addAndGet(-bytes);
  }

  /** Whether it is passed over no longer. */
  boolean isWell(long nowNs) {
    return nowNs - passedOverUntilNs >= 0;
  }

  /** Counts an error; the tier is passed over until then, on the clock of {@link #isWell}. */
  void failed(long untilNs) {
    errors.increment();
    passedOverUntilNs = untilNs;
  }

  boolean isWritable() {
    return folders.stream().allMatch(each -> each.isDirectory() && each.canWrite());
  }

  boolean isNamedIn(String message) {
    return folders.stream().anyMatch(each -> message.contains(each.getPath()));
  }

  @Override
  public String toString() {
    return name() + " (" + (rule == null ? "takes what is left" : rule.text()) + "): " + folders;
  }
}
