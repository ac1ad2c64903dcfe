package org.apache.spark.network.shuffle;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;

/**
 * In place of Spark's class of this name, in a shuffle service: where executors left a link to a file
 * on another tier, the file itself is found, so that it is the file which the service deletes.
 *
 * <p>A link without its file stays until the application ends.
 */
public class ExecutorDiskUtils {
  /** Where the file {@code filename} of an executor with these directories is, or would be. */
  public static String getFilePath(String[] localDirs, int subDirsPerLocalDir, String filename) {
    int hash = filename.hashCode();
    int index = hash == Integer.MIN_VALUE ? 0 : Math.abs(hash);
    String sub = String.format("%02x", index / localDirs.length % subDirsPerLocalDir);
    Path home = Paths.get(localDirs[index % localDirs.length], sub, filename);
    // As Spark does: of the many equal texts of a service one is kept.
    return target(home, localDirs, Paths.get(sub, filename)).toString().intern();
  }

  /** Where {@code home} leads to, if that is {@code within} one of the directories. */
  private static Path target(Path home, String[] localDirs, Path within) {
    if (Files.isSymbolicLink(home)) {
      try {
        Path found = Files.readSymbolicLink(home);
        for (String each : localDirs) {
          if (found.equals(Paths.get(each).resolve(within))) {
            return found;
          }
        }
      } catch (IOException gone) {
        // It is being deleted.
      }
    }
    return home;
  }
}
