package venturi.spark.tiers;

import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Expected final size of a file of each kind, in bytes: estimated from the largest recently
 * completed ones.
 */
final class KindSizes {
  /** A file of a kind that is not known: as much as Spark reads for a task, if nothing else is said. */
  static final long UNKNOWN = 128 << 20;

  /** With less room, it is uncertain whether even a small file fits. */
  private static final long LEAST_ROOM = 1 << 20;

  /** The maximum of a few files is a weak estimate: after n files, it is raised by FEW / n. */
  private static final double FEW = 4;

  /** About a hundred smaller files make the largest one forgotten. */
  private static final int MEMORY = 128;

  private static final int KINDS = FileKind.values().length;

  private final AtomicLongArray files = new AtomicLongArray(KINDS);
  private final AtomicLongArray largest = new AtomicLongArray(KINDS);
  private final AtomicLongArray largestOpen = new AtomicLongArray(KINDS);

  KindSizes() {
    // Eight bytes for each partition that is read.
    learn(FileKind.SHUFFLE_INDEX, 16 << 10);
  }

  /** The expected final size of a file. */
  long expected(FileKind kind) {
    return isKnown(kind) ? ofComplete(kind) : Math.max(UNKNOWN, 2 * largestOpen.get(kind.ordinal()));
  }

  /**
   * The bytes reserved for one more file if there is {@code room}: all of it if the size is
   * unknown.
   */
  long wanted(FileKind kind, long room) {
    long expected = expected(kind);
    return isKnown(kind) ? expected : Math.max(LEAST_ROOM, Math.min(room, expected));
  }

  /** Whether a file is complete, and none that is written is larger than was expected. */
  private boolean isKnown(FileKind kind) {
    long ofComplete = ofComplete(kind);
    return ofComplete > 0 && largestOpen.get(kind.ordinal()) <= ofComplete;
  }

  private long ofComplete(FileKind kind) {
    long known = largest.get(kind.ordinal());
    double factor = 1 + FEW / Math.max(1, files.get(kind.ordinal()));
    return Math.min(Math.round(known * factor), Math.max(UNKNOWN, known));
  }

  /** The largest size of the known kinds; UNKNOWN if all are unknown. */
  long largest() {
    long found = 0;
    for (int kind = 0; kind < KINDS; kind++) {
      found = Math.max(found, kind == FileKind.SHUFFLE_INDEX.ordinal() ? 0 : largest.get(kind));
    }
    return found > 0 ? found : UNKNOWN;
  }

  /** A file is complete. An empty one says nothing: perhaps it was gone before it was written. */
  void learn(FileKind kind, long bytes) {
    if (bytes > 0) {
      files.incrementAndGet(kind.ordinal());
      largest.updateAndGet(
          kind.ordinal(), before -> bytes >= before ? bytes : before - (before - bytes) / MEMORY);
    }
  }

  /** The largest file that is still written has {@code bytes}. */
  void grew(FileKind kind, long bytes) {
    largestOpen.set(kind.ordinal(), bytes);
  }
}
