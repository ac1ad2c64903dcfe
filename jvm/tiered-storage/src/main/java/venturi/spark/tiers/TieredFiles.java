package venturi.spark.tiers;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.apache.spark.SparkConf;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.DiskBlockManager;

/**
 * Spark's own manager of local files, but for where a file is. Each Scala version has a subclass.
 *
 * <p>Made without a constructor, of the fields of the one that it replaces: see {@link Swap}.
 */
abstract class TieredFiles extends DiskBlockManager {
  private DiskBlockManager original;
  private Placement placement;
  private String[] registered;

  /** Never called: stock Spark's constructor makes directories. */
  protected TieredFiles(SparkConf conf) {
    super(conf, true, true);
  }

  /** @param registered the local directories announced to other processes */
  void begin(DiskBlockManager original, Placement placement, String[] registered) {
    this.original = original;
    this.placement = placement;
    this.registered = registered;
  }

  final Placement placement() {
    return placement;
  }

  @Override
  public final File getFile(String name) {
    return placement.locate(name);
  }

  @Override
  public final File createTempFileWith(File file) {
    File temporary = super.createTempFileWith(file);
    placement.writes(file, temporary);
    return temporary;
  }

  @Override
  public final boolean containsBlock(BlockId block) {
    return placement.existing(block.name()) != null;
  }

  /** Executors of this host ask by this where to look. */
  @Override
  public final String[] localDirsString() {
    placement.othersAsk();
    return registered.clone();
  }

  /** Also decides for the replaced manager, which has the shutdown hook. */
  @Override
  public final void deleteFilesOnStop_$eq(boolean delete) {
    super.deleteFilesOnStop_$eq(delete);
    original.deleteFilesOnStop_$eq(delete);
  }

  /** Every file once: a link is another name of one that is listed, too. */
  protected final List<File> files() {
    List<File> found = new ArrayList<>();
    for (File folder : localDirs()) {
      File[] subs = folder.listFiles(File::isDirectory);
      for (File sub : subs == null ? new File[0] : subs) {
        try (Stream<java.nio.file.Path> entries = Files.list(sub.toPath())) {
          entries.filter(each -> !Files.isSymbolicLink(each)).map(java.nio.file.Path::toFile).forEach(found::add);
        } catch (IOException gone) {
          // Directories are removed while we look.
        }
      }
    }
    return found;
  }
}
