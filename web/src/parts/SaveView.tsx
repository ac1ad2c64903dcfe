// Keeps the page as it is under a name.
import { type FormEvent, useState } from "react";
import { useLocation } from "wouter";
import type { View } from "../generated/types";
import { useSearch } from "../state";
import { href } from "../url";
import { Field } from "./Field";
import { ProblemBox } from "./Page";
import { useAuthor, useChange, useMayWrite } from "./server/changes";
import { YourName } from "./server/YourName";

/** A form that saves the page's URL; nothing where the reader may not write. */
export function SaveView() {
  const [path] = useLocation();
  const [search] = useSearch();
  const [author, setAuthor] = useAuthor();
  const [name, setName] = useState("");
  const { make, done, problem, sending } = useChange<View>();
  if (!useMayWrite()) return null;
  const save = (event: FormEvent) => {
    event.preventDefault();
    void make("POST", "/api/views", { name, author, url: href(path, search) });
  };
  return (
    <details className="more">
      <summary>Save this view</summary>
      <form className="stacked" onSubmit={save}>
        <Field label="Name" value={name} onChange={setName} required maxLength={100} />
        <YourName value={author} onChange={setAuthor} />
        <button type="submit" disabled={sending}>
          Save
        </button>
        {problem && <ProblemBox problem={problem} />}
        {done && !problem && (
          <p className="done" role="status">
            Saved. The overview page lists it.
          </p>
        )}
      </form>
    </details>
  );
}
