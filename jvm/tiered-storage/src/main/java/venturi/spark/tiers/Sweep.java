package venturi.spark.tiers;

import java.io.File;
import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Map;
import java.util.function.Predicate;

/** One look at all files of a tier: how many are complete, of each kind. */
final class Sweep extends SimpleFileVisitor<Path> {
  /** A link that was made for a file which is not yet there is no litter. */
  private static final long YOUNG_MS = 60_000;

  private final Predicate<File> isOpen;
  private final Predicate<String> isExpected;
  private final Map<FileKind, Usage.Files> found = Usage.none();

  /**
   * @param isOpen whether a file is still written
   * @param isExpected whether a file of that name is to be written
   */
  Sweep(Predicate<File> isOpen, Predicate<String> isExpected) {
    this.isOpen = isOpen;
    this.isExpected = isExpected;
  }

  Map<FileKind, Usage.Files> take(TierFolders tier) {
    for (File folder : tier.folders()) {
      try {
        Files.walkFileTree(folder.toPath(), this);
      } catch (IOException gone) {
        // A directory that can't be read has no readable files.
      }
    }
    return found;
  }

  @Override
  public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
    String name = file.getFileName().toString();
    if (attributes.isSymbolicLink()) {
      long age = System.currentTimeMillis() - attributes.lastModifiedTime().toMillis();
      if (age > YOUNG_MS && !isExpected.test(name) && !Files.exists(file)) {
        remove(file);
      }
    } else if (attributes.isRegularFile() && !isOpen.test(file.toFile())) {
      found.computeIfPresent(FileKind.of(name), (kind, files) -> files.with(attributes.size()));
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
