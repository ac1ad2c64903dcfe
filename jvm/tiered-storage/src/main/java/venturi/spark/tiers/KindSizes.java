package venturi.spark.tiers;

import java.util.concurrent.atomic.AtomicLongArray;

/** How large a file of each kind may become, in bytes: told by the largest of those that were complete lately. */
final class KindSizes {
  /** A file of a kind that is not known: as much as Spark reads for a task, if nothing else is said. */
  static final long UNKNOWN = 128 << 20;

  /** With less room, nobody knows whether even a small file fits. */
  private static final long LEAST_ROOM = 1 << 20;

  /** Of a few files the largest says little of the next: of n, it may be larger by this part of n. */
  private static final double FEW = 4;

  /** The largest file is forgotten over some hundred smaller ones. */
  private static final int MEMORY = 128;

  private static final int KINDS = FileKind.values().length;

  private final AtomicLongArray files = new AtomicLongArray(KINDS);
  private final AtomicLongArray largest = new AtomicLongArray(KINDS);
  private final AtomicLongArray largestOpen = new AtomicLongArray(KINDS);

  KindSizes() {
    // Eight bytes for each partition that is read.
    learn(FileKind.SHUFFLE_INDEX, 16 << 10);
  }

  /** What a file is expected to have in the end. */
  long expected(FileKind kind) {
    return isKnown(kind) ? ofComplete(kind) : Math.max(UNKNOWN, 2 * largestOpen.get(kind.ordinal()));
  }

  /** What is kept for one more file where there is {@code room}: all of it if the size is not known. */
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

  /** Of the kinds that are known; UNKNOWN if none is. */
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
