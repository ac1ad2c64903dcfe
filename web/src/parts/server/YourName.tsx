// Who changes something: their token says so, or they do.

import { Field } from "../Field";
import { useToken } from "./changes";

export function YourName({
  value,
  onChange,
}: {
  value: string | null;
  onChange: (name: string) => void;
}) {
  const token = useToken();
  if (value === null)
    return (
      <p className="aside">
        Recorded under the name of your token, <code>{token}</code>.
      </p>
    );
  return <Field label="Your name" value={value} onChange={onChange} required maxLength={100} />;
}
