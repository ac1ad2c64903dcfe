package venturi.spark.tiers;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A file that has a place, from the first question on until it is complete. */
final class OpenFile {
  private static final long NOT_THERE = -1;

  /** A name that was requested and never written is a query, not a file. */
  private static final long FORGOTTEN_NS = TimeUnit.MINUTES.toNanos(10);

  final String name;
  final File file;
  final TierFolders tier;
  final FileKind kind;
  private final Task task;
  private final long madeNs = System.nanoTime();

  /**
   * A task of Spark. After its end, the files that it requested are complete, or will never exist.
   */
  static final class Task {
    volatile boolean hasEnded;

    /** The last spill that its own thread requested. */
    private OpenFile spill;

    /**
     * It writes {@code next} from now on: it writes one spill after the other, unless it asks for many
     * before it writes any.
     */
    void spills(OpenFile next) {
      if (spill != null && spill.file.length() > 0) {
        spill.isWritten = true;
      }
      spill = next;
    }
  }

  /** For a spill: its task writes the next one. */
  private volatile boolean isWritten;

  /** Where it is written, if under another name, and renamed when it is complete. */
  volatile File temporary;

  // The fields below belong to the sweep, which one thread runs at a time.

  /** Bytes that are kept for it on its tier, beyond those that it has. */
  long charged;

  private long bytes = NOT_THERE;
  private long sweptBytes = NOT_THERE;
  private boolean isThere;
  private boolean isRenamed;
  private boolean isOver;

  private boolean isSettled;
  private boolean isMoved;
  private long told;

  /** The spill that may be renamed to be this file; null: none, or it is known whether it was. */
  private Origin origin;

  private record Origin(OpenFile spill, List<Object> identity) {}

  /** @param task that asked; null: what asked is no task */
  OpenFile(String name, File file, TierFolders tier, FileKind kind, Task task, long charged) {
    this.name = name;
    this.file = file;
    this.tier = tier;
    this.kind = kind;
    this.task = task;
    this.charged = charged;
    // A map task with a single spill renames that: written once, it is to count once.
    OpenFile spill = task == null || kind != FileKind.SHUFFLE ? null : task.spill;
    List<Object> there = spill == null ? null : identity(spill.file);
    this.origin = there == null ? null : new Origin(spill, there);
  }

  /** Asks the file system. */
  void measure() {
    isOver = isWritten || task != null && task.hasEnded; // read first: its task may end during this call
    File other = temporary;
    long unfinished = other == null ? NOT_THERE : length(other);
    long now = unfinished == NOT_THERE ? length(file) : unfinished;
    isThere = now != NOT_THERE;
    isRenamed = isThere && other != null && unfinished == NOT_THERE;
    bytes = isThere ? now : bytes;
    if (isThere && origin != null) {
      List<Object> there = identity(isRenamed || other == null ? file : other);
      if (there != null) {
        origin.spill.isMoved = there.equals(origin.identity);
        origin.spill.tell();
        origin = null;
      }
    }
  }

  /** Device and inode, and when it was written last, as inodes are used again; null: it is not there. */
  private static List<Object> identity(File file) {
    try {
      BasicFileAttributes found = Files.readAttributes(file.toPath(), BasicFileAttributes.class);
      return Arrays.asList(found.fileKey(), found.lastModifiedTime(), found.size());
    } catch (IOException gone) {
      return null;
    }
  }

  /** It is complete or gone. */
  void settle() {
    isSettled = true;
    tell();
  }

  /** Adds the bytes seen of it to the total, or corrects the amount added. */
  private void tell() {
    long counted = isSettled && !isMoved ? bytes() : 0;
    tier.usage(kind).settledBytes.add(counted - told);
    told = counted;
  }

  private static long length(File file) {
    long found = file.length();
    return found > 0 || file.exists() ? found : NOT_THERE;
  }

  boolean isThere() {
    return isThere;
  }

  private boolean wasThere() {
    return bytes != NOT_THERE;
  }

  /** Those that it has, or had when it was seen last. */
  long bytes() {
    return Math.max(0, bytes);
  }

  /** Whether it was renamed, or its task has ended or gone on; if no task asked, whether it rests between sweeps. */
  boolean isComplete(boolean isSweep) {
    boolean rests = isSweep && task == null && temporary == null && bytes > 0 && bytes == sweptBytes;
    sweptBytes = isSweep ? bytes : sweptBytes;
    return isThere && (isRenamed || isOver || rests);
  }

  /** Whether it existed and no longer does, or has not appeared and is no longer expected. */
  boolean isGone() {
    return !isThere && (isOver || wasThere() || ageNs() > FORGOTTEN_NS && task == null);
  }

  /**
   * Whether it may only have been a query, such as for the removal of a block that never was on
   * disk.
   */
  boolean isQuestion() {
    return !wasThere() && task == null;
  }

  /** Whether a running task may write it, or has written it and will rename it. */
  boolean isOfRunningTask() {
    return task != null && !task.hasEnded;
  }

  private long ageNs() {
    return System.nanoTime() - madeNs;
  }
}
