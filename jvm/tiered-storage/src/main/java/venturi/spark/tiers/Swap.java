package venturi.spark.tiers;

import java.io.File;
import java.io.IOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.storage.BlockManager;
import org.apache.spark.storage.DiskBlockManager;
import org.apache.spark.storage.DiskStore;
import sun.reflect.ReflectionFactory;

/**
 * Puts {@link TieredFiles} where Spark has its own, by reflection.
 *
 * <p>Everything is looked up before anything is changed: if Spark is not as expected, it stays as it
 * was, and {@link NotAsExpected} says what was missing.
 */
final class Swap {
  /** How many times the first tier's directories are registered for each one of the others. */
  private static final int WEIGHT = 16;

  private Swap() {}

  /** Spark's inside is not what this was written for. */
  static final class NotAsExpected extends Exception {
    private static final long serialVersionUID = 1;

    NotAsExpected(String what) {
      super(what);
    }
  }

  /**
   * The active placement of this process; null if the local directories are all on one tier.
   *
   * @param warn receives problems that don't stop anything
   */
  static Placement into(SparkEnv env, TierPolicy policy, boolean isDriver, Consumer<String> warn)
      throws NotAsExpected, ReflectiveOperationException {
    BlockManager blocks = env.blockManager();
    DiskBlockManager stock = blocks.diskBlockManager();
    if (stock instanceof TieredFiles ours) {
      return ours.placement();
    }
    requireScala();
    Field ofBlocks = only(BlockManager.class, DiskBlockManager.class);
    Field ofStore = only(DiskStore.class, DiskBlockManager.class);
    SparkConf conf = env.conf();
    File[] folders = stock.localDirs();
    List<TierFolders> tiers = tiers(policy, folders, configured(conf), warn);
    if (tiers.size() < 2) {
      warn.accept("all local directories are of one tier: files are where Spark has them");
      return null;
    }
    boolean service = conf.getBoolean("spark.shuffle.service.enabled", false);
    String master = conf.get("spark.master", "");
    boolean alone = master.equals("local") || master.startsWith("local["); // not local-cluster
    boolean peers = !alone && !master.startsWith("k8s")
        && (service || conf.getBoolean("spark.shuffle.readHostLocalDisk", true));
    Method register = service && !isDriver && peers ? registration() : null;
    File[] homes = register == null ? folders : weighted(tiers, folders);
    Placement.Readers readers = isDriver || !peers ? Placement.Readers.NOBODY : readers(conf, service);
    Placement placement =
        new Placement(policy, tiers, homes, stock.subDirsPerLocalDir(), readers, service, System::nanoTime);
    if (register == null) {
      requireSameHomes(stock, placement);
    }
    placement.noteWhatIsThere();
    String[] registered = Arrays.stream(homes).map(File::toString).toArray(String[]::new);
    TieredFiles ours = copyOf(stock);
    ours.begin(stock, placement, registered);
    ofBlocks.set(blocks, ours);
    ofStore.set(blocks.diskStore(), ours);
    if (register != null) {
      try {
        register.invoke(blocks);
      } catch (ReflectiveOperationException error) {
        ofBlocks.set(blocks, stock); // the service knows the directories as they were
        ofStore.set(blocks.diskStore(), stock);
        throw error;
      }
    }
    return placement;
  }

  private static Placement.Readers readers(SparkConf conf, boolean service) {
    if (!service) {
      return Placement.Readers.PEERS;
    }
    boolean blocks = conf.getBoolean("spark.shuffle.service.fetch.rdd.enabled", false);
    return blocks ? Placement.Readers.SERVICE_WITH_BLOCKS : Placement.Readers.SERVICE;
  }

  /** The local directories, as the user or the cluster manager wrote them. */
  private static List<String> configured(SparkConf conf) {
    Stream<String> said =
        Stream.of(
            System.getenv("LOCAL_DIRS"), System.getenv("SPARK_LOCAL_DIRS"), conf.get("spark.local.dir", null));
    return said.filter(Objects::nonNull)
        .flatMap(each -> Arrays.stream(each.split(",")))
        .map(String::strip)
        .filter(each -> !each.isEmpty())
        .toList();
  }

  /**
   * The tiers that have a directory, in their order; those without a keyword after all others.
   *
   * @param configured the directories as they were written, in which Spark made {@code folders}
   */
  static List<TierFolders> tiers(
      TierPolicy policy, File[] folders, List<String> configured, Consumer<String> warn) {
    List<String> roots = Arrays.stream(folders).map(each -> root(each, configured)).toList();
    int[] places = policy.tiersOf(roots);
    List<TierFolders> found = new ArrayList<>();
    int last = Arrays.stream(places).max().orElse(0);
    for (int tier = 0; tier <= policy.tiers().size(); tier++) {
      List<File> own = new ArrayList<>();
      for (int at = 0; at < places.length; at++) {
        if (places[at] == tier) {
          own.add(folders[at]);
        }
      }
      TierPolicy.Tier named = tier < policy.tiers().size() ? policy.tiers().get(tier) : null;
      if (!own.isEmpty()) {
        found.add(new TierFolders(named, own, tier < last));
      } else if (named != null) {
        warn.accept("no local directory has \"" + named.keyword() + "\" in its path: " + roots);
      }
    }
    return found;
  }

  /** The configured directory: without what Spark adds, and under the name that it has there, if it is a link. */
  private static String root(File folder, List<String> configured) {
    for (String each : configured) {
      try {
        if (folder.toPath().startsWith(Path.of(each).toRealPath())) {
          return each;
        }
      } catch (IOException | InvalidPathException other) {
        // It is not there, so this folder is not in it.
      }
    }
    String parent = folder.getParent();
    return folder.getName().startsWith("blockmgr-") && parent != null ? parent : folder.getPath();
  }

  private static void requireScala() throws NotAsExpected, ReflectiveOperationException {
    Class<?> wanted = DiskBlockManager.class.getMethod("getAllFiles").getReturnType();
    for (Method own : ScalaTieredFiles.class.getDeclaredMethods()) {
      if (own.getName().equals("getAllFiles") && own.getReturnType() == wanted) {
        return;
      }
    }
    throw new NotAsExpected(
        "this jar is for Scala " + ScalaTieredFiles.SCALA + ", and this Spark has another"
            + " (`venturi engines jar tiered-storage --spark " + org.apache.spark.package$.MODULE$.SPARK_VERSION()
            + "` prints the path of the right one)");
  }

  /** The one field of {@code owner} that holds a {@code type}. */
  static Field only(Class<?> owner, Class<?> type) throws NotAsExpected {
    List<Field> found =
        Arrays.stream(owner.getDeclaredFields())
            .filter(each -> each.getType() == type && !Modifier.isStatic(each.getModifiers()))
            .toList();
    if (found.size() != 1) {
      throw new NotAsExpected(
          owner.getName() + " has " + found.size() + " fields of the type " + type.getName() + ", not 1");
    }
    found.get(0).setAccessible(true);
    return found.get(0);
  }

  private static Method registration() throws NotAsExpected {
    try {
      Method found = BlockManager.class.getDeclaredMethod("registerWithExternalShuffleServer");
      found.setAccessible(true);
      return found;
    } catch (NoSuchMethodException missing) {
      throw new NotAsExpected("BlockManager has no registerWithExternalShuffleServer()");
    }
  }

  /** Where a shuffle service looks is mostly where files are, so that few links are needed. */
  private static File[] weighted(List<TierFolders> tiers, File[] folders) {
    List<File> found = new ArrayList<>();
    for (int time = 0; time < WEIGHT * folders.length; time++) {
      found.addAll(tiers.get(0).folders());
    }
    for (File folder : folders) {
      if (!tiers.get(0).holds(folder)) {
        found.add(folder);
      }
    }
    return found.toArray(File[]::new);
  }

  private static void requireSameHomes(DiskBlockManager stock, Placement placement) throws NotAsExpected {
    for (String name : List.of("shuffle_0_0_0.data", "rdd_3_14", "temp_shuffle_0")) {
      if (!stock.getFile(name).equals(placement.home(name))) {
        throw new NotAsExpected("DiskBlockManager.getFile(\"" + name + "\") is not where it was expected");
      }
    }
  }

  private static TieredFiles copyOf(DiskBlockManager stock) throws ReflectiveOperationException {
    Constructor<?> plain =
        ReflectionFactory.getReflectionFactory()
            .newConstructorForSerialization(ScalaTieredFiles.class, Object.class.getDeclaredConstructor());
    TieredFiles ours = (TieredFiles) plain.newInstance();
    for (Field field : DiskBlockManager.class.getDeclaredFields()) {
      if (!Modifier.isStatic(field.getModifiers())) {
        field.setAccessible(true);
        field.set(ours, field.get(stock));
      }
    }
    return ours;
  }
}
