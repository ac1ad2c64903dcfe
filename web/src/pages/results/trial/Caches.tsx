// What a job cached, and how much of it was stored.
import { bytes } from "../../../format";
import type { JobData } from "../../../generated/types";
import { type Cell, DataTable, number, oneLine } from "../../../parts/Table";

const sized = (value: number | null): Cell =>
  value === null ? null : { value, show: bytes(value) };

/** Nothing where nothing was cached. */
export function Caches({ data: { caches } }: { data: JobData }) {
  if (caches.length === 0) return null;
  return (
    <>
      <h3>What is cached</h3>
      <DataTable
        caption="What is cached"
        columns={[
          { name: "Name" },
          { name: "Level" },
          number("Partitions"),
          number("Cached at most"),
          number("In memory at most"),
          number("On disk at most"),
        ]}
        rows={caches.map(({ rdd, name, level, partitions, cached, ...stored }): Cell[] => [
          oneLine(`RDD ${rdd}${name === null ? "" : `: ${name}`}`),
          level,
          partitions,
          cached,
          sized(stored.memory_bytes),
          sized(stored.disk_bytes),
        ])}
      />
      {caches.some(({ cached }) => cached === null) && (
        <p className="aside">
          How much of it was stored is not recorded: since 2.3 Spark's log tells it only with{" "}
          <code>spark.eventLog.logBlockUpdates.enabled</code>.
        </p>
      )}
    </>
  );
}
