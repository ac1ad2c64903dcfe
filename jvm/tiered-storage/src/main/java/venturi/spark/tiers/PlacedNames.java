package venturi.spark.tiers;

import java.util.concurrent.atomic.AtomicIntegerArray;

/**
 * The names that were placed in this process. No other process makes files in its directories, so
 * the file system need not be queried for other names. False positives are possible: a bit stands
 * for many names.
 */
final class PlacedNames {
  private static final int BITS_LOG2 = 23; // 1 MiB

  private final AtomicIntegerArray words = new AtomicIntegerArray(1 << BITS_LOG2 - 5);

  void add(int hash) {
    int bit = bit(hash);
    int mask = 1 << bit;
    if ((words.get(bit >>> 5) & mask) == 0) {
      words.getAndUpdate(bit >>> 5, word -> word | mask);
    }
  }

  boolean mayHave(int hash) {
    int bit = bit(hash);
    return (words.get(bit >>> 5) & 1 << bit) != 0;
  }

  private static int bit(int hash) {
    return hash * 0x9E3779B9 >>> 32 - BITS_LOG2;
  }
}
