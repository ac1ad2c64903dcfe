package venturi.spark.tiers;

import java.io.File;
import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ConcurrentMap;

/**
 * The files being written, and the bytes reserved for them. One thread at a time checks their
 * growth; requests for a place never wait.
 */
final class OpenFiles {
  private final List<TierFolders> tiers;
  private final KindSizes sizes;
  private final ConcurrentMap<String, OpenFile> files = new ConcurrentHashMap<>();
  private final Queue<OpenFile> forgotten = new ConcurrentLinkedQueue<>();

  OpenFiles(List<TierFolders> tiers, KindSizes sizes) {
    this.tiers = tiers;
    this.sizes = sizes;
  }

  OpenFile get(String name) {
    return files.get(name);
  }

  /** The open files; may include files that are added during the call. */
  Collection<OpenFile> all() {
    return files.values();
  }

  /** The one that had the name before, which stays; null: it is `made` now. */
  OpenFile add(OpenFile made) {
    return files.putIfAbsent(made.name, made);
  }

  /** {@code temporary} becomes the file {@code name} when it is complete. */
  void writes(String name, File temporary) {
    OpenFile open = files.get(name);
    if (open != null) {
      open.temporary = temporary;
    }
  }

  /** Whether `found` is being written, under its own name or another one. */
  private boolean isOpen(File found) {
    String name = found.getName();
    String finalName = FileKind.finalName(name);
    OpenFile open = files.get(finalName);
    if (open != null && open.temporary == null && !name.equals(finalName)) {
      open.temporary = found; // a writer that did not say so
    }
    return open != null || files.containsKey(name);
  }

  /** Checks every file: present, complete or gone. */
  synchronized void sweep() {
    List<Map<FileKind, Usage.Files>> complete = new ArrayList<>();
    for (TierFolders tier : tiers) {
      complete.add(new Sweep(this::isOpen, files::containsKey).take(tier));
    }
    look(complete, true);
  }

  /** Looks at the files that are being written. */
  synchronized void look() {
    if (!files.isEmpty() || !forgotten.isEmpty()) {
      look(tiers.stream().map(TierFolders::complete).toList(), false);
    }
  }

  private void look(List<Map<FileKind, Usage.Files>> complete, boolean isSweep) {
    List<Map<FileKind, Usage.Files>> open = tiers.stream().map(tier -> Usage.none()).toList();
    Map<FileKind, Long> largest = new EnumMap<>(FileKind.class);
    List<OpenFile> written = new ArrayList<>();
    List<OpenFile> done = new ArrayList<>();
    for (OpenFile each : files.values()) {
      each.measure();
      boolean isComplete = each.isComplete(isSweep);
      if (isComplete || each.isGone()) {
        sizes.learn(each.kind, each.bytes());
        each.settle();
        done.add(each);
      } else {
        largest.merge(each.kind, each.bytes(), Math::max);
        written.add(each);
      }
      if (each.isThere()) {
        (isComplete ? complete : open)
            .get(tiers.indexOf(each.tier))
            .computeIfPresent(each.kind, (kind, files) -> files.with(each.bytes()));
      }
    }
    for (FileKind kind : FileKind.values()) {
      sizes.grew(kind, largest.getOrDefault(kind, 0L));
    }
    for (TierFolders tier : tiers) {
      tier.set(complete.get(tiers.indexOf(tier)), open.get(tiers.indexOf(tier)));
      if (tier.isBounded()) {
        tier.usable(0);
      }
    }
    // Count present bytes before reducing the reservation.
    for (OpenFile each : written) {
      keep(each, each.isQuestion() ? 0 : Math.max(0, sizes.expected(each.kind) - each.bytes()));
    }
    for (OpenFile each : done) {
      if (files.remove(each.name, each)) {
        keep(each, 0);
      }
    }
    for (OpenFile each = forgotten.poll(); each != null; each = forgotten.poll()) {
      keep(each, 0);
    }
  }

  private static void keep(OpenFile open, long bytes) {
    if (open.tier.isBounded()) {
      open.tier.release(open.charged - bytes);
      open.charged = bytes;
    }
  }

  /**
   * Removes missing files from {@code tier}; the next sweep releases their reservations. Running
   * tasks keep theirs: their data lie there, under another name.
   */
  void forget(TierFolders tier) {
    for (OpenFile each : files.values()) {
      if (each.tier == tier && !each.isOfRunningTask() && !each.file.exists() && files.remove(each.name, each)) {
        forgotten.add(each);
      }
    }
  }
}
