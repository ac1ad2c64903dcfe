package venturi.spark.tiers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SwapTest {
  @SuppressWarnings("unused")
  private static final class Other {
    private final String first = "";
    private final String second = "";
    private final Integer number = 1;
  }

  @Test
  void findsAFieldByItsTypeOnly() throws Swap.NotAsExpected {
    assertEquals("number", Swap.only(Other.class, Integer.class).getName());
    String said =
        assertThrows(Swap.NotAsExpected.class, () -> Swap.only(Other.class, String.class)).getMessage();
    assertTrue(said.contains("has 2 fields of the type java.lang.String"), said);
    assertThrows(Swap.NotAsExpected.class, () -> Swap.only(Other.class, Long.class));
  }

  @Test
  void warnsOfAKeywordThatMatchesNothing() {
    List<String> warnings = new ArrayList<>();
    File[] folders = {new File("/data/ssd/blockmgr-nvme"), new File("/data/disk/blockmgr-1")};
    List<TierFolders> tiers =
        Swap.tiers(TierPolicy.parse("nvme 1GB,ssd 1GB", ""), folders, List.of(), warnings::add);
    assertEquals(List.of("ssd", "last"), tiers.stream().map(TierFolders::name).toList());
    assertEquals(1, warnings.size());
    assertTrue(warnings.get(0).contains("\"nvme\""), warnings.toString());
  }

  @Test
  void matchesWhatWasConfiguredNotWhereALinkLeadsTo(@TempDir Path temporary) throws IOException {
    Path real = Files.createDirectories(temporary.resolve("nvme"));
    Path disk = Files.createDirectories(temporary.resolve("disk"));
    Path link = Files.createSymbolicLink(temporary.resolve("ssd"), real);
    // As Spark makes them: links are followed.
    File[] folders = {
      real.toRealPath().resolve("blockmgr-1").toFile(), disk.toRealPath().resolve("executor-ssd/blockmgr-2").toFile(),
    };
    List<String> configured = List.of("/missing/ssd", link.toString(), disk.toString());
    List<TierFolders> tiers =
        Swap.tiers(TierPolicy.parse("nvme 1GB,ssd 1GB", ""), folders, configured, what -> {});
    assertEquals(List.of("ssd", "last"), tiers.stream().map(TierFolders::name).toList());
    assertEquals(List.of(folders[0]), tiers.get(0).folders());
  }
}
