// The answer of a page: its first sentence stands out, those after the second are smaller.

import { fullStop } from "../format";
import { onPage } from "../here";

export function Verdict({ text }: { text: string }) {
  const [first, second, ...others] = fullStop(onPage(text)).split(/(?<=[^.]\.) (?=[A-Z])/);
  return (
    <>
      <p className="verdict">
        <strong>{first}</strong> {second}
      </p>
      {others.length > 0 && <p className="verdict more">{others.join(" ")}</p>}
    </>
  );
}
