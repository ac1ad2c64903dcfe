package venturi.spark.suites;

import org.scalatest.Suite;
import scala.collection.Iterator;

/** Prints the names of the tests of the suite with this class name, one per line. */
public final class Names {
  private Names() {}

  public static void main(String[] suite) throws ReflectiveOperationException {
    Suite made = (Suite) Class.forName(suite[0]).getDeclaredConstructor().newInstance();
    Iterator<String> names = made.testNames().iterator();
    while (names.hasNext()) {
      System.out.println(names.next());
    }
  }
}
