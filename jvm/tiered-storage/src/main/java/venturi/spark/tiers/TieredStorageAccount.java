package venturi.spark.tiers;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.scheduler.SparkListenerEvent;

/**
 * The bytes on each tier, as the event log has them: cumulative since the process began, so the
 * last account of a process is complete.
 *
 * <p>Other programs read its names, which don't change while {@code version} is 1.
 */
public final class TieredStorageAccount implements SparkListenerEvent {
  static final int VERSION = 1;

  private final Map<String, Object> account;

  TieredStorageAccount(Map<String, Object> account) {
    this.account = account;
  }

  public Map<String, Object> getAccount() {
    return account;
  }

  /** Uses plain maps and lists, so that an executor can send it without our classes. */
  static Map<String, Object> of(String executor, String host, Placement placement) {
    Map<String, Object> told = new LinkedHashMap<>();
    told.put("version", VERSION);
    told.put("executor_id", executor);
    told.put("host", host);
    told.put("at_ms", System.currentTimeMillis());
    List<Object> tiers = new ArrayList<>();
    for (TierFolders tier : placement.tiers()) {
      tiers.add(of(tier));
    }
    told.put("tiers", tiers);
    return told;
  }

  /** The part of an account that matters if it changed. */
  static Object kinds(Map<String, Object> account) {
    return ((List<?>) account.get("tiers")).stream().map(tier -> ((Map<?, ?>) tier).get("kinds")).toList();
  }

  private static Map<String, Object> of(TierFolders tier) {
    Map<String, Object> told = new LinkedHashMap<>();
    TierPolicy.Tier rule = tier.rule;
    told.put("tier", tier.name());
    told.put("leave_free_bytes", rule == null || rule.allowance() ? null : rule.bound());
    told.put("use_at_most_bytes", rule == null || !rule.allowance() ? null : rule.bound());
    told.put("directories", tier.folders().stream().map(String::valueOf).toList());
    told.put("usable_bytes", tier.usable(0));
    told.put("errors", tier.errors.sum());
    List<Object> kinds = new ArrayList<>();
    for (FileKind kind : FileKind.values()) {
      Usage usage = tier.usage(kind);
      if (usage.placements.sum() > 0 || usage.peakBytes() > 0) {
        kinds.add(of(kind, usage));
      }
    }
    told.put("kinds", kinds);
    return told;
  }

  private static Map<String, Object> of(FileKind kind, Usage usage) {
    Map<String, Object> told = new LinkedHashMap<>();
    long first = usage.firstOverflowMs.get();
    told.put("kind", kind.label);
    told.put("placements", usage.placements.sum());
    told.put("seen_bytes", usage.settledBytes.sum() + usage.openBytes());
    told.put("present_bytes", usage.presentBytes());
    told.put("peak_bytes", usage.peakBytes());
    told.put("overflows", usage.overflows.sum());
    told.put("first_overflow_ms", first == 0 ? null : first);
    return told;
  }
}
