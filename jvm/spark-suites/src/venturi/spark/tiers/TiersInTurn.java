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
 * After {@link TieredStoragePlugin}: makes the first tier take half of the files, whatever room there is,
 * so that of files that belong together some are elsewhere than others, and than stock Spark has them.
 *
 * <p>The file that {@link #TOLD} names gets a line for each process: how many files each tier got.
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
    // Without a period (Thue and Morse): strictly in turn, data and indexes would be told apart.
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
