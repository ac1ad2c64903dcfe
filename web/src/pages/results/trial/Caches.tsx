// The data that a job cached, and how much of it was stored.
import { bytes } from "../../../format";
import type { JobData } from "../../../generated/types";
import { Folded } from "../../../parts/Sections";
import { type Cell, DataTable, number, oneLine } from "../../../parts/Table";

const sized = (value: number | null): Cell =>
  value === null ? null : { value, show: bytes(value) };

/** Cached data; nothing if a job cached none. */
export function Caches({ data: { caches } }: { data: JobData }) {
  if (caches.length === 0) return null;
  return (
    <Folded id="cached-data" title="Cached data" open>
      <DataTable
        caption="Cached data"
        columns={[
          { name: "Name" },
          { name: "Level" },
          number("Partitions"),
          number("Cached partitions, peak"),
          number("Memory, peak"),
          number("Disk, peak"),
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
          The log doesn't say how much was stored. Since version 2.3 Spark logs it only with{" "}
          <code>spark.eventLog.logBlockUpdates.enabled=true</code>.
        </p>
      )}
    </Folded>
  );
}
