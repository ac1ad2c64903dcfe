package venturi.spark.tiers;

import java.io.File;
import org.apache.spark.SparkConf;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** Code with types that differ between binary versions of Scala: this is 2.13. */
final class ScalaTieredFiles extends TieredFiles {
  static final String SCALA = "2.13";

  private ScalaTieredFiles(SparkConf conf) {
    super(conf);
  }

  @Override
  public Seq<File> getAllFiles() {
    return CollectionConverters.asScala(files()).toSeq();
  }
}
