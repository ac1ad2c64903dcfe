import java.util.List;
import java.util.Map;
import org.apache.spark.network.TransportContext;
import org.apache.spark.network.shuffle.ExternalBlockHandler;
import org.apache.spark.network.shuffle.RemoteBlockPushResolver;
import org.apache.spark.network.util.MapConfigProvider;
import org.apache.spark.network.util.TransportConf;

/** Spark's shuffle service as a NodeManager has it, which merges what is pushed: prints its port, serves until its input ends. */
public final class PushService {
  private PushService() {}

  public static void main(String[] arguments) throws Exception {
    TransportConf conf = new TransportConf("shuffle", new MapConfigProvider(Map.of()));
    RemoteBlockPushResolver merged = new RemoteBlockPushResolver(conf, null);
    ExternalBlockHandler handler = new ExternalBlockHandler(conf, null, merged);
    try (TransportContext context = new TransportContext(conf, handler, true)) {
      System.out.println(context.createServer(0, List.of()).getPort());
      while (System.in.read() >= 0) {
        // Until the one who started it ends.
      }
    }
    System.exit(0);
  }
}
