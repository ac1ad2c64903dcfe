package venturi.spark.tiers;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;

/** Files of one kind on one tier. Bytes are those that a sweep saw: of a file that lives shorter, none. */
final class Usage {
  /** Names that got a place here, also those that were asked for and never written. */
  final LongAdder placements = new LongAdder();

  /** Of these, what an earlier tier did not take, and when the first one came (ms since 1970, 0: none). */
  final LongAdder overflows = new LongAdder();
  final AtomicLong firstOverflowMs = new AtomicLong();

  /** Bytes of files that are complete or gone. */
  final LongAdder settledBytes = new LongAdder();

  /** Bytes of files that are being written, at the last sweep. */
  volatile long openBytes;

  /** Bytes, and files, that were there at the last sweep, and the most bytes at any. */
  volatile long presentBytes;
  volatile long presentFiles;
  volatile long peakBytes;

  void overflowed(long nowMs) {
    overflows.increment();
    firstOverflowMs.compareAndSet(0, nowMs);
  }

  void present(long files, long bytes) {
    presentFiles = files;
    presentBytes = bytes;
    peakBytes = Math.max(peakBytes, bytes);
  }
}
