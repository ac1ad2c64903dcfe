package venturi.spark.tiers;

import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Sizes as text: {@code 50GB} is 50 * 10^9 bytes, {@code 50GiB}, and {@code 50g} as Spark writes it, 50 * 2^30. */
final class Sizes {
  static final String UNITS = "B, kB, MB, GB, TB (of 1000), or KiB, MiB, GiB, TiB (of 1024)";

  /** An EiB: sums of a few still fit into 64 bits. */
  private static final long MOST = 1L << 60;

  private static final Pattern SIZE = Pattern.compile("(\\d{1,18})([a-z]*)");
  private static final Map<String, Long> BYTES =
      Map.ofEntries(
          Map.entry("b", 1L),
          Map.entry("kb", 1_000L),
          Map.entry("mb", 1_000_000L),
          Map.entry("gb", 1_000_000_000L),
          Map.entry("tb", 1_000_000_000_000L),
          Map.entry("kib", 1L << 10),
          Map.entry("mib", 1L << 20),
          Map.entry("gib", 1L << 30),
          Map.entry("tib", 1L << 40),
          Map.entry("k", 1L << 10),
          Map.entry("m", 1L << 20),
          Map.entry("g", 1L << 30),
          Map.entry("t", 1L << 40));

  private Sizes() {}

  /** The bytes that {@code text} means; IllegalArgumentException says what is wrong with it. */
  static long parse(String text) {
    Matcher found = SIZE.matcher(text.toLowerCase(Locale.ROOT));
    Long unit = found.matches() ? BYTES.get(found.group(2)) : null;
    if (unit == null) {
      throw new IllegalArgumentException(
          '"' + text + "\" is no size: write a whole number and a unit, such as 50GB; units are " + UNITS);
    }
    long number = Long.parseLong(found.group(1));
    if (number > MOST / unit) {
      throw new IllegalArgumentException('"' + text + "\" is larger than any disk");
    }
    return number * unit;
  }
}
