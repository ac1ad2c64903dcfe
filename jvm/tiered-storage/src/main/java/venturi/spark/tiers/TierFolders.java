package venturi.spark.tiers;

import java.io.File;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;

/** The local directories of one tier, and what is known of the room on them, in bytes. */
final class TierFolders {
  /** What was said of it; null: these are the directories without a keyword. */
  final TierPolicy.Tier rule;

  /** Times that something could not be written there. */
  final LongAdder errors = new LongAdder();

  private final List<File> folders;
  private final Map<FileKind, Usage> usages = new EnumMap<>(FileKind.class);
  private final AtomicLong charged = new AtomicLong();
  private volatile long passedOverUntilNs = System.nanoTime();
  private volatile Known usable = new Known(0, System.nanoTime() - (1L << 62));

  private record Known(long bytes, long atNs) {}

  TierFolders(TierPolicy.Tier rule, List<File> folders) {
    this.rule = rule;
    this.folders = List.copyOf(folders);
    for (FileKind kind : FileKind.values()) {
      usages.put(kind, new Usage());
    }
  }

  /** As metrics and events name it. */
  String name() {
    return rule == null ? "last" : rule.keyword();
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

  /** What its fullest directory has room for, as the file system said at most {@code ageNs} ago. */
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

  /** Bytes of our files here, at the last sweep. */
  long presentBytes() {
    return usages.values().stream().mapToLong(each -> each.presentBytes).sum();
  }

  long charged() {
    return charged.get();
  }

  /** Keeps {@code bytes} for a file that is to be written; what was kept before. */
  long charge(long bytes) {
    return charged.getAndAdd(bytes);
  }

  void release(long bytes) {
    charged.addAndGet(-bytes);
  }

  boolean isWell() {
    return System.nanoTime() - passedOverUntilNs >= 0;
  }

  /** Counts an error; the tier is passed over for {@code pauseNs}. */
  void failed(long pauseNs) {
    errors.increment();
    if (pauseNs > 0) {
      passedOverUntilNs = System.nanoTime() + pauseNs;
    }
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
