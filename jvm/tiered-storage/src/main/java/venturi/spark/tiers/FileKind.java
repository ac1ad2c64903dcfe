package venturi.spark.tiers;

import java.util.regex.Pattern;

/** The purpose of a file in Spark's disk store, derived from its name. */
enum FileKind {
  /** Output of map tasks for reduce tasks: read in small pieces, in no order. */
  SHUFFLE("shuffle"),
  /** Where the pieces of shuffle files begin, and their checksums: small. */
  SHUFFLE_INDEX("shuffle_index"),
  /** Sorted runs and hash tables that did not fit into memory: written and read in order. */
  SPILL("spill"),
  /** Cached partitions. */
  CACHED("cached"),
  /** Broadcasts, results of tasks, streams. */
  OTHER("other");

  private static final Pattern TEMPORARY =
      Pattern.compile("\\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$");

  /** As settings, metrics and events name it. */
  final String label;

  FileKind(String label) {
    this.label = label;
  }

  static FileKind of(String name) {
    if (name.startsWith("temp_")) {
      return SPILL;
    }
    if (name.startsWith("rdd_")) {
      return CACHED;
    }
    if (name.startsWith("shuffle")) {
      String last = finalName(name);
      return last.endsWith(".index") || last.contains(".checksum") ? SHUFFLE_INDEX : SHUFFLE;
    }
    return OTHER;
  }

  /** The name that a file gets when it is complete: Spark writes {@code NAME.UUID} and renames it. */
  static String finalName(String name) {
    int dot = name.length() - 37;
    return dot > 0 && name.charAt(dot) == '.' ? TEMPORARY.matcher(name).replaceFirst("") : name;
  }
}
