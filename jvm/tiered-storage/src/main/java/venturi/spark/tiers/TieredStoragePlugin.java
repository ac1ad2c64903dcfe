package venturi.spark.tiers;

import com.codahale.metrics.Gauge;
import com.codahale.metrics.MetricRegistry;
import java.io.IOException;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.ToLongFunction;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskFailedReason;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.api.plugin.SparkPlugin;
import org.apache.spark.scheduler.EventLoggingListener;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerApplicationEnd;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Option;

/**
 * Tiered local storage: fills fast disks, then slow ones. {@code spark.plugins} names this class,
 * and {@code spark.storage.hierarchyStore} the tiers ({@code nvme 50GB,ssd 80GB}).
 */
public final class TieredStoragePlugin implements SparkPlugin {
  private static final Logger LOG = LoggerFactory.getLogger(TieredStoragePlugin.class);
  private static final String STRICT = TierPolicy.SETTING + ".strict";
  private static final String INTERVAL = TierPolicy.SETTING + ".interval";

  @Override
  public DriverPlugin driverPlugin() {
    return new OnDriver();
  }

  @Override
  public ExecutorPlugin executorPlugin() {
    return new OnExecutor();
  }

  /**
   * The watch over the placement of this process; null if files stay where stock Spark has them.
   */
  private static Watch begin(
      PluginContext context, boolean isDriver, Consumer<Map<String, Object>> tell) {
    SparkConf conf = context.conf();
    String tiers = conf.get(TierPolicy.SETTING, "");
    if (tiers.isBlank()) {
      warn(TierPolicy.SETTING + " is not set: files are where Spark has them");
      return null;
    }
    TierPolicy policy = TierPolicy.parse(tiers, conf.get(TierPolicy.RESERVES, ""));
    boolean strict = conf.getBoolean(STRICT, false);
    long intervalMs = conf.getTimeAsMs(INTERVAL, "5s");
    if (intervalMs <= 0) {
      throw new IllegalArgumentException(INTERVAL + ": \"" + conf.get(INTERVAL) + "\" is not more than 0, as 5s is");
    }
    Placement placement;
    try {
      placement = Swap.into(SparkEnv.get(), policy, isDriver, TieredStoragePlugin::warn);
    } catch (Swap.NotAsExpected | ReflectiveOperationException | RuntimeException | LinkageError error) {
      String said = error instanceof Swap.NotAsExpected ? error.getMessage() : error.toString();
      if (strict) {
        throw new IllegalStateException(
            STRICT + "=true, and tiers cannot be used with this Spark: " + said, error);
      }
      warn("tiers are off, files are where Spark has them: " + said);
      return null;
    }
    if (placement == null) {
      return null;
    }
    LOG.info("tiers: {}", placement.tiers());
    measure(context.metricRegistry(), placement);
    // An executor has no address of its own, for which a context asks; a driver has no block manager's yet.
    String host = isDriver ? context.hostname() : SparkEnv.get().blockManager().blockManagerId().host();
    return new Watch(placement, context.executorID(), host, intervalMs, tell);
  }

  /** Called once in each process, because its directories may differ from the driver's. */
  private static void warn(String what) {
    LOG.warn("Venturi's tiered storage: {}", what);
  }

  private static void measure(MetricRegistry registry, Placement placement) {
    for (TierFolders tier : placement.tiers()) {
      String name = "tier." + tier.name() + '.';
      registry.register(name + "charged_bytes", (Gauge<Long>) tier::charged);
      registry.register(name + "errors", (Gauge<Long>) tier.errors::sum);
      for (FileKind kind : FileKind.values()) {
        Usage usage = tier.usage(kind);
        String of = name + kind.label + '.';
        gauge(registry, of + "present_bytes", usage, Usage::presentBytes);
        gauge(registry, of + "present_files", usage, Usage::presentFiles);
        gauge(registry, of + "placements", usage, each -> each.placements.sum());
        gauge(registry, of + "overflows", usage, each -> each.overflows.sum());
      }
    }
  }

  private static void gauge(MetricRegistry registry, String name, Usage usage, ToLongFunction<Usage> read) {
    registry.register(name, (Gauge<Long>) () -> read.applyAsLong(usage));
  }

  private static final class OnDriver implements DriverPlugin {
    private SparkContext spark;
    private Watch watch;

    @Override
    public Map<String, String> init(SparkContext context, PluginContext plugin) {
      spark = context;
      watch = begin(plugin, true, this::post);
      if (watch != null && plugin.conf().getBoolean("spark.eventLog.enabled", false)) {
        context.listenerBus().addToEventLogQueue(new Ending(context, watch));
      }
      return Map.of();
    }

    /** An executor's account. */
    @Override
    @SuppressWarnings("unchecked")
    public Object receive(Object message) {
      post((Map<String, Object>) message);
      return null;
    }

    private void post(Map<String, Object> account) {
      spark.listenerBus().post(new TieredStorageAccount(account));
    }

    @Override
    public void shutdown() {
      if (watch != null) {
        watch.close();
      }
    }
  }

  /** Writes how it was at the end, in the thread of the event log: a post would come too late. */
  private static final class Ending extends SparkListener {
    private final SparkContext spark;
    private final Watch watch;

    Ending(SparkContext spark, Watch watch) {
      this.spark = spark;
      this.watch = watch;
    }

    @Override
    public void onApplicationEnd(SparkListenerApplicationEnd end) {
      Option<EventLoggingListener> log = spark.eventLogger(); // made after plugins are
      if (log.isDefined()) {
        log.get().onOtherEvent(new TieredStorageAccount(watch.account()));
      }
    }
  }

  private static final class OnExecutor implements ExecutorPlugin {
    private PluginContext context;
    private Watch watch;
    private Placement placement;

    @Override
    public void init(PluginContext plugin, Map<String, String> extra) {
      context = plugin;
      if (SparkEnv.get().blockManager().diskBlockManager() instanceof TieredFiles ours) {
        placement = ours.placement(); // in local mode, where the driver has done it
        return;
      }
      if ("driver".equals(plugin.executorID())) {
        return;
      }
      watch = begin(plugin, false, this::send);
      if (SparkEnv.get().blockManager().diskBlockManager() instanceof TieredFiles ours) {
        placement = ours.placement();
      }
    }

    private void send(Map<String, Object> account) {
      try {
        context.send(account);
      } catch (IOException gone) {
        // The driver ends, and asks no more.
      }
    }

    @Override
    public void onTaskStart() {
      if (placement != null) {
        placement.taskBegins();
      }
    }

    @Override
    public void onTaskSucceeded() {
      if (placement != null) {
        placement.taskEnds();
      }
    }

    @Override
    public void onTaskFailed(TaskFailedReason reason) {
      if (placement != null) {
        placement.taskEnds();
        placement.taskFailed(reason.toErrorString());
      }
    }

    @Override
    public void shutdown() {
      if (watch != null) {
        send(watch.account());
        watch.close();
      }
    }
  }
}
