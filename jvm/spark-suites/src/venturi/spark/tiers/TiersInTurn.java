package venturi.spark.tiers;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.api.plugin.SparkPlugin;

/**
 * After {@link TieredStoragePlugin}: makes the first tier take half of the files, regardless of
 * room, so that files that belong together lie in different places, and elsewhere than with stock
 * Spark.
 *
 * <p>The file named by {@code VENTURI_SUITES_TOLD} gets a line for each process: the number of
 * files on each tier.
 */
public final class TiersInTurn implements SparkPlugin {
  private static final String TOLD = "VENTURI_SUITES_TOLD";

  @Override
  public DriverPlugin driverPlugin() {
    return new DriverPlugin() {
      private Placement placement;

      @Override
      public Map<String, String> init(SparkContext context, PluginContext plugin) {
        placement = inTurn();
        return Map.of();
      }

      @Override
      public void shutdown() {
        tell(placement);
      }
    };
  }

  @Override
  public ExecutorPlugin executorPlugin() {
    return new ExecutorPlugin() {
      private Placement placement;

      @Override
      public void init(PluginContext plugin, Map<String, String> extra) {
        placement = "driver".equals(plugin.executorID()) ? null : inTurn();
      }

      @Override
      public void shutdown() {
        tell(placement);
      }
    };
  }

  private static Placement inTurn() {
    if (!(SparkEnv.get().blockManager().diskBlockManager() instanceof TieredFiles ours)) {
      append("stock");
      return null;
    }
    AtomicLong asked = new AtomicLong();
    // An aperiodic sequence (Thue and Morse): strict alternation would separate data from indexes.
    Placement.Room half =
        (tier, kind, space) -> Long.bitCount(asked.getAndIncrement()) % 2 == 0 ? Long.MAX_VALUE : -1;
    try {
      Swap.only(Placement.class, Placement.Room.class).set(ours.placement(), half);
    } catch (Swap.NotAsExpected | ReflectiveOperationException error) {
      throw new IllegalStateException(error);
    }
    append("tiers");
    return ours.placement();
  }

  private static void tell(Placement placement) {
    if (placement == null) {
      return;
    }
    for (TierFolders tier : placement.tiers()) {
      long files = 0;
      for (FileKind kind : FileKind.values()) {
        files += tier.usage(kind).placements.sum();
      }
      append("placed " + tier.name() + ' ' + files);
    }
  }

  private static void append(String line) {
    try {
      Files.writeString(
          Path.of(System.getenv(TOLD)), line + '\n', StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }
}
