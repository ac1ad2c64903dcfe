package venturi.spark.tiers;

import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;

/** Files of one kind on one tier. Bytes are those that a look saw: of a file that lives shorter, none. */
final class Usage {
  /** Names placed here, including requested ones that were never written. */
  final LongAdder placements = new LongAdder();

  /**
   * Placements that an earlier tier rejected, and the time of the first one (ms since 1970, 0:
   * never).
   */
  final LongAdder overflows = new LongAdder();
  final AtomicLong firstOverflowMs = new AtomicLong();

  /** Bytes of files that were completed or are gone, since the beginning. */
  final LongAdder settledBytes = new LongAdder();

  /** Files present now: complete ones, and those being written. */
  private volatile Files complete = new Files(0, 0);
  private volatile Files open = new Files(0, 0);
  private volatile long peakBytes;

  /** How many, and their bytes together. */
  record Files(long count, long bytes) {
    Files with(long more) {
      return new Files(count + 1, bytes + more);
    }
  }

  /** No file of any kind. */
  static Map<FileKind, Files> none() {
    Map<FileKind, Files> found = new EnumMap<>(FileKind.class);
    for (FileKind kind : FileKind.values()) {
      found.put(kind, new Files(0, 0));
    }
    return found;
  }

  void overflowed(long nowMs) {
    overflows.increment();
    firstOverflowMs.compareAndSet(0, nowMs);
  }

  Files complete() {
    return complete;
  }

  /** Complete files first: a file read during the call counts twice instead of never. */
  void set(Files nowComplete, Files nowOpen) {
    complete = nowComplete;
    open = nowOpen;
    peakBytes = Math.max(peakBytes, presentBytes());
  }

  long presentBytes() {
    // In this order, see above.
    return open.bytes() + complete.bytes();
  }

  long presentFiles() {
    return open.count() + complete.count();
  }

  long openBytes() {
    return open.bytes();
  }

  long peakBytes() {
    return peakBytes;
  }
}
