package venturi.spark.tiers;

import java.io.File;
import org.apache.spark.SparkConf;
import scala.collection.Seq;
import scala.collection.JavaConverters;

/** Code with types that differ between binary versions of Scala: this is 2.12. */
final class ScalaTieredFiles extends TieredFiles {
  static final String SCALA = "2.12";

  private ScalaTieredFiles(SparkConf conf) {
    super(conf);
  }

  @Override
  public Seq<File> getAllFiles() {
    return JavaConverters.asScalaBuffer(files());
  }
}
