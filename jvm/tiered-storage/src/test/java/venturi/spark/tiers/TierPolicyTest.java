package venturi.spark.tiers;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import venturi.spark.tiers.TierPolicy.Space;
import venturi.spark.tiers.TierPolicy.Tier;

class TierPolicyTest {
  @Test
  void readsTiersInTheirOrder() {
    TierPolicy read = TierPolicy.parse("NVMe 50GB, ssd  max 80GiB ,old 1g", "");
    assertEquals(
        List.of(
            new Tier("nvme", 50_000_000_000L, false),
            new Tier("ssd", 80L << 30, true),
            new Tier("old", 1L << 30, false)),
        read.tiers());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "ssd 50XB|tier 1 of \"ssd 50XB\": \"50XB\" is no size",
        "ssd|tier 1 of \"ssd\": \"ssd\" is neither KEYWORD SIZE",
        "nvme 1GB,|tier 2 of \"nvme 1GB,\": \"\" is neither",
        "nvme 1GB,ssd min 5GB|tier 2 of",
        "ssd 1GB,SSD 2GB|the keyword \"SSD\" is there twice",
        "ssd 1GB,Last 2GB|\"Last\" names the directories that no keyword matches",
        "ssd -5GB|\"-5GB\" is no size",
        "ssd 1.5GB|\"1.5GB\" is no size",
        "ssd 5|\"5\" is no size",
        "ssd 999999999TB|is larger than any disk",
        "ssd 1048577TiB|\"1048577TiB\" is larger than any disk",
      })
  void saysWhatIsWrongAndWhere(String text, String said) {
    String message =
        assertThrows(IllegalArgumentException.class, () -> TierPolicy.parse(text, "")).getMessage();
    assertTrue(message.startsWith("spark.storage.hierarchyStore: ") && message.contains(said), message);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "spill 1GB,sorted 2GB|\"sorted 2GB\" in",
        "spill 1GB, spill 2GB|\"spill 2GB\" in \"spill 1GB, spill 2GB\": the kind \"spill\" is there twice",
      })
  void refusesReserves(String text, String said) {
    String message =
        assertThrows(IllegalArgumentException.class, () -> TierPolicy.parse("ssd 1GB", text)).getMessage();
    assertTrue(message.startsWith("spark.storage.hierarchyStore.reserves: ") && message.contains(said), message);
  }

  @Test
  void takesTheFirstKeywordThatAPathHas() {
    TierPolicy policy = TierPolicy.parse("nvme 1GB,ssd 1GB", "");
    assertArrayEquals(
        new int[] {2, 1, 0, 0},
        policy.tiersOf(List.of("/disk1/spark", "/mnt/SSD0/spark", "/nvme1", "/ssd/nvme")));
  }

  @Test
  void leavesSpaceFree() {
    TierPolicy policy = TierPolicy.parse("ssd 100B", "spill 50B");
    Tier ssd = policy.tiers().get(0);
    assertEquals(10, policy.room(ssd, FileKind.SHUFFLE, new Space(110, 7, 0)));
    assertEquals(9, policy.room(ssd, FileKind.SHUFFLE, new Space(110, 7, 1)), "what is charged counts");
    assertEquals(-40, policy.room(ssd, FileKind.SPILL, new Space(110, 7, 0)), "spills leave more");
    assertEquals(10, policy.room(ssd, FileKind.SPILL, new Space(160, 7, 0)));
  }

  @Test
  void usesNoMoreThanIsAllowedOrThere() {
    TierPolicy policy = TierPolicy.parse("ssd max 100B", "cached 5B");
    Tier ssd = policy.tiers().get(0);
    assertEquals(20, policy.room(ssd, FileKind.SHUFFLE, new Space(1000, 70, 10)));
    assertEquals(15, policy.room(ssd, FileKind.CACHED, new Space(1000, 70, 10)));
    assertEquals(19, policy.room(ssd, FileKind.SHUFFLE, new Space(19, 0, 0)));
    assertEquals(-1, policy.room(ssd, FileKind.SHUFFLE, new Space(19, 0, 20)));
  }

  @ParameterizedTest
  @CsvSource({
    "shuffle_0_1_0.data,SHUFFLE",
    "shuffle_0_1_0.data.8f14e45f-ceea-467f-a8f4-2b1c3d4e5f60,SHUFFLE",
    "shuffle_0_1_0.index.8f14e45f-ceea-467f-a8f4-2b1c3d4e5f60,SHUFFLE_INDEX",
    "shuffle_0_1_0.checksum.ADLER32,SHUFFLE_INDEX",
    "temp_shuffle_8f14e45f-ceea-467f-a8f4-2b1c3d4e5f60,SPILL",
    "temp_local_8f14e45f-ceea-467f-a8f4-2b1c3d4e5f60,SPILL",
    "rdd_3_14,CACHED",
    "broadcast_0_piece0,OTHER",
  })
  void tellsKindsByNames(String name, FileKind kind) {
    assertEquals(kind, FileKind.of(name));
  }
}
