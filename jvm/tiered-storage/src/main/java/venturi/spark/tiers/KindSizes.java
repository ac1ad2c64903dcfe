package venturi.spark.tiers;

import java.util.concurrent.atomic.AtomicLongArray;

/** How large a file of each kind is expected to be, in bytes: learned from those that are complete. */
final class KindSizes {
  private static final FileKind[] KINDS = FileKind.values();

  /** Of the mean, what one more file changes: the last dozen files count. */
  private static final double WEIGHT = 1 / 8.0;

  private final AtomicLongArray means = new AtomicLongArray(KINDS.length);

  KindSizes() {
    for (FileKind kind : KINDS) {
      // Until one is known. A file is seldom larger than what a task keeps in memory.
      means.set(kind.ordinal(), kind == FileKind.SHUFFLE_INDEX ? 16 << 10 : 16 << 20);
    }
  }

  long mean(FileKind kind) {
    return means.get(kind.ordinal());
  }

  long largest() {
    long found = 0;
    for (FileKind kind : KINDS) {
      found = Math.max(found, mean(kind));
    }
    return found;
  }

  void learn(FileKind kind, long bytes) {
    means.updateAndGet(kind.ordinal(), mean -> mean + Math.round((bytes - mean) * WEIGHT));
  }
}
