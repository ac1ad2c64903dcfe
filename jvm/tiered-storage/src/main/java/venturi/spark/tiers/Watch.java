package venturi.spark.tiers;

import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A thread that checks the files of a process periodically, and reports them. */
final class Watch implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Watch.class);
  private static final long LEAST_PAUSE_MS = 50;
  private static final long LONGEST_PAUSE_MS = 10_000;

  /** Between two looks at all files; the others are at those that are being written. */
  private static final long SWEEP_PAUSE_MS = 500;

  /** A look at the files takes about one part of the time. */
  private static final long PARTS = 10;

  private final ScheduledExecutorService thread =
      Executors.newSingleThreadScheduledExecutor(
          task -> {
            Thread made = new Thread(task, "venturi-tiers");
            made.setDaemon(true);
            return made;
          });
  private final Placement placement;
  private final String executor;
  private final String host;
  private final long tellEveryMs;
  private final Consumer<Map<String, Object>> tell;
  private long toldAtMs;
  private long sweepAtMs;
  private Object toldKinds = "";
  private boolean hasFailed;

  Watch(
      Placement placement, String executor, String host, long tellEveryMs, Consumer<Map<String, Object>> tell) {
    this.placement = placement;
    this.executor = executor;
    this.host = host;
    this.tellEveryMs = tellEveryMs;
    this.tell = tell;
    toldAtMs = System.currentTimeMillis();
    thread.schedule(this::look, LEAST_PAUSE_MS, TimeUnit.MILLISECONDS);
  }

  private void look() {
    long beganMs = System.currentTimeMillis();
    try {
      lookOnce(beganMs);
    } catch (Throwable error) { // only sweeps release reservations: they must go on
      if (!hasFailed) {
        LOG.warn("Venturi's tiered storage: the files of the tiers could not be looked at", error);
      }
      hasFailed = true;
    } finally {
      if (!thread.isShutdown()) {
        thread.schedule(this::look, pauseMs(beganMs), TimeUnit.MILLISECONDS);
      }
    }
  }

  private void lookOnce(long beganMs) {
    if (beganMs >= sweepAtMs) {
      placement.sweep();
      sweepAtMs = beganMs + Math.max(SWEEP_PAUSE_MS, pauseMs(beganMs));
    } else {
      placement.look();
    }
    if (System.currentTimeMillis() - toldAtMs >= tellEveryMs) {
      toldAtMs = System.currentTimeMillis();
      Map<String, Object> account = TieredStorageAccount.of(executor, host, placement);
      Object kinds = TieredStorageAccount.kinds(account);
      if (!kinds.equals(toldKinds)) {
        toldKinds = kinds;
        tell.accept(account);
      }
    }
  }

  /** After what began then. */
  private static long pauseMs(long beganMs) {
    long tookMs = System.currentTimeMillis() - beganMs;
    return Math.min(Math.max(LEAST_PAUSE_MS, PARTS * tookMs), LONGEST_PAUSE_MS);
  }

  /** How things are now. */
  Map<String, Object> account() {
    placement.sweep();
    return TieredStorageAccount.of(executor, host, placement);
  }

  @Override
  public void close() {
    thread.shutdownNow();
  }
}
