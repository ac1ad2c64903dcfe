package venturi.spark.tiers;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/**
 * Which tiers there are, and which of them takes a file. Asks no file system.
 *
 * <p>Tiers are in the order in which they are filled. The last one has no bound.
 */
record TierPolicy(List<Tier> tiers, Map<FileKind, Long> reserves) {
  static final String SETTING = "spark.storage.hierarchyStore";
  static final String RESERVES = SETTING + ".reserves";

  /**
   * Local directories with {@code keyword} in their path, in any case.
   *
   * @param bound bytes that stay free, or (if {@code allowance}) that a process uses at most
   */
  record Tier(String keyword, long bound, boolean allowance) {
    boolean matches(String path) {
      return path.toLowerCase(Locale.ROOT).contains(keyword);
    }

    /** The rule, in words. */
    String text() {
      return (allowance ? "uses at most " : "leaves free ") + bound + " B";
    }
  }

  /** The known space of a tier, in bytes. {@code charged}: reserved for files not yet written. */
  record Space(long usable, long present, long charged) {}

  /** The tiers of {@code nvme 50GB,ssd max 80GB}; IllegalArgumentException says what is wrong, where. */
  static TierPolicy parse(String tiers, String reserves) {
    return new TierPolicy(tiersOf(tiers), reservesOf(reserves));
  }

  private static List<Tier> tiersOf(String text) {
    List<Tier> found = new ArrayList<>();
    Set<String> keywords = new HashSet<>();
    int number = 0;
    for (String part : text.split(",", -1)) {
      number++;
      String where = "tier " + number + " of \"" + text + '"';
      String[] words = part.strip().split("\\s+");
      boolean allowance = words.length == 3 && words[1].equalsIgnoreCase("max");
      if (words.length != 2 && !allowance) {
        throw wrong(
            SETTING,
            where,
            '"' + part.strip() + "\" is neither KEYWORD SIZE (to leave free) nor KEYWORD max SIZE (to use)");
      }
      String keyword = words[0].toLowerCase(Locale.ROOT);
      if (!keywords.add(keyword)) {
        throw wrong(SETTING, where, "the keyword \"" + words[0] + "\" is there twice");
      }
      if (keyword.equals(TierFolders.LAST)) {
        throw wrong(SETTING, where, '"' + words[0] + "\" names the directories that no keyword matches");
      }
      found.add(new Tier(keyword, sizeOf(SETTING, where, words[words.length - 1]), allowance));
    }
    return List.copyOf(found);
  }

  private static Map<FileKind, Long> reservesOf(String text) {
    Map<FileKind, Long> found = new EnumMap<>(FileKind.class);
    if (text.isBlank()) {
      return found;
    }
    for (String part : text.split(",", -1)) {
      String[] words = part.strip().split("\\s+");
      String where = '"' + part.strip() + "\" in \"" + text + '"';
      FileKind kind = null;
      for (FileKind each : FileKind.values()) {
        kind = each.label.equals(words[0]) ? each : kind;
      }
      if (words.length != 2 || kind == null) {
        throw wrong(
            RESERVES, where, "it is not KIND SIZE, with KIND one of shuffle, shuffle_index, spill, cached, other");
      }
      if (found.put(kind, sizeOf(RESERVES, where, words[1])) != null) {
        throw wrong(RESERVES, where, "the kind \"" + kind.label + "\" is there twice");
      }
    }
    return found;
  }

  private static long sizeOf(String setting, String where, String text) {
    try {
      return Sizes.parse(text);
    } catch (IllegalArgumentException error) {
      throw wrong(setting, where, error.getMessage());
    }
  }

  private static IllegalArgumentException wrong(String setting, String where, String what) {
    return new IllegalArgumentException(setting + ": " + where + ": " + what);
  }

  /** The tier, by its place, of each of {@code paths}; {@code tiers().size()} where no keyword matches. */
  int[] tiersOf(List<String> paths) {
    int[] found = new int[paths.size()];
    for (int at = 0; at < found.length; at++) {
      int tier = 0;
      while (tier < tiers.size() && !tiers.get(tier).matches(paths.get(at))) {
        tier++;
      }
      found[at] = tier;
    }
    return found;
  }

  /**
   * The bytes that files of {@code kind} may still take of the tier {@code asked}; negative: it is
   * over its limit.
   */
  long room(Tier asked, FileKind kind, Space space) {
    // An allowance does not make a disk larger.
    long room = asked.allowance()
        ? Math.min(asked.bound() - space.present() - reserves.getOrDefault(kind, 0L), space.usable())
        : space.usable() - asked.bound() - reserves.getOrDefault(kind, 0L);
    return room - space.charged();
  }
}
