// The block I/O of a trial.
import { useTwin } from "../../../data";
import { Io } from "../../../parts/io/Io";
import { Pending, ProblemBox } from "../../../parts/Page";

/** The block I/O of a trial that was traced. */
export function DiskIo({ id }: { id: string }) {
  const { data, problem, pending } = useTwin("/api/trials/{id}/io", undefined, id);
  return (
    <section aria-labelledby="disk-io">
      <h2 id="disk-io">Disk I/O</h2>
      {pending && <Pending what="the trace" lines={24} />}
      {problem && <ProblemBox problem={problem} />}
      {data && <Io id={id} found={data} />}
    </section>
  );
}
