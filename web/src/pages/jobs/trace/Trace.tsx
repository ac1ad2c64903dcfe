// A block I/O trace that a command has read; it exists in files only.
import { useTwin } from "../../../data";
import { Io } from "../../../parts/io/Io";
import { Pending, ProblemBox } from "../../../parts/Page";

export default function Trace() {
  const { data, problem } = useTwin("/api/trace");
  if (problem) return <ProblemBox problem={problem} />;
  if (!data) return <Pending />;
  return (
    <div>
      <h1>{data.title}</h1>
      {data.warnings.map((each) => (
        <p key={each}>{each}</p>
      ))}
      <section aria-labelledby="disk-io">
        <h2 id="disk-io">Disk I/O</h2>
        <Io id="trace" found={data.io} cells={data.cells} />
      </section>
    </div>
  );
}
