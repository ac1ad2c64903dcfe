// A text field with its label.
import { type HTMLAttributes, useId } from "react";

export function Field({
  label,
  value,
  onChange,
  ...more
}: {
  label: string;
  value: string;
  onChange: (value: string) => void;
} & Pick<HTMLAttributes<HTMLInputElement>, "inputMode"> & {
    type?: "text" | "number" | "password" | "date";
    required?: boolean;
    placeholder?: string;
    maxLength?: number;
    autoComplete?: string;
    min?: number;
    step?: number | "any";
  }) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input id={id} value={value} onChange={({ target }) => onChange(target.value)} {...more} />
    </div>
  );
}
