// A choice among a few words.
import { useId } from "react";

export function Choice<Word extends string>({
  label,
  words,
  chosen,
  choose,
}: {
  label: string;
  words: readonly Word[];
  chosen: Word;
  choose: (word: Word) => void;
}) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select id={id} value={chosen} onChange={({ target }) => choose(target.value as Word)}>
        {words.map((word) => (
          <option key={word}>{word}</option>
        ))}
      </select>
    </div>
  );
}
