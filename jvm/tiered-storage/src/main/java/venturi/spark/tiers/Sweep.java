package venturi.spark.tiers;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.EnumMap;
import java.util.Map;
import java.util.function.ObjLongConsumer;
import java.util.function.Predicate;

/** One look at all files of a tier: the files and bytes of each kind. */
final class Sweep extends SimpleFileVisitor<Path> {
  /** A link that was made for a file which is not yet there is no litter. */
  private static final long YOUNG_MS = 60_000;

  private final ObjLongConsumer<String> seen;
  private final Predicate<String> expected;
  private final Map<FileKind, long[]> found = new EnumMap<>(FileKind.class);

  /**
   * @param seen is told the name and the bytes of each file
   * @param expected whether a file of that name is to be written
   */
  Sweep(ObjLongConsumer<String> seen, Predicate<String> expected) {
    this.seen = seen;
    this.expected = expected;
    for (FileKind kind : FileKind.values()) {
      found.put(kind, new long[2]);
    }
  }

  void take(TierFolders tier) {
    for (var folder : tier.folders()) {
      try {
        Files.walkFileTree(folder.toPath(), this);
      } catch (IOException gone) {
        // A directory that cannot be read has no files of ours that anyone could read.
      }
    }
    found.forEach((kind, sums) -> tier.usage(kind).present(sums[0], sums[1]));
  }

  @Override
  public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
    String name = file.getFileName().toString();
    if (attributes.isSymbolicLink()) {
      long age = System.currentTimeMillis() - attributes.lastModifiedTime().toMillis();
      if (age > YOUNG_MS && !expected.test(name) && !Files.exists(file)) {
        remove(file);
      }
    } else if (attributes.isRegularFile()) {
      long[] sums = found.get(FileKind.of(name));
      sums[0]++;
      sums[1] += attributes.size();
      seen.accept(name, attributes.size());
    }
    return FileVisitResult.CONTINUE;
  }

  /** Files come and go while we look. */
  @Override
  public FileVisitResult visitFileFailed(Path file, IOException error) {
    return FileVisitResult.CONTINUE;
  }

  @Override
  public FileVisitResult postVisitDirectory(Path folder, IOException error) {
    return FileVisitResult.CONTINUE;
  }

  private static void remove(Path link) {
    try {
      Files.deleteIfExists(link);
    } catch (IOException error) {
      // It goes with its directory, at the end.
    }
  }
}
