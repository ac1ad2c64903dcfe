// Excludes trials from analyses, for a reason.

import { useState } from "react";
import { Link } from "wouter";
import { trials } from "../format";
import { PAGES } from "../generated/pages";
import type { Exclusion } from "../generated/types";
import { Field } from "./Field";
import { ProblemBox } from "./Page";
import { useAuthor, useChange, useMayWrite } from "./server/changes";
import { YourName } from "./server/YourName";

/** A form that records a rule for `conditions`, which `n` trials meet now. */
export function Exclude({
  label,
  conditions,
  n,
}: {
  label: string;
  conditions: readonly string[];
  n: number;
}) {
  const { make, done, problem, sending } = useChange<Exclusion>();
  const [author, setAuthor] = useAuthor();
  const [reason, setReason] = useState("");
  const may = useMayWrite();
  if (!may) return null;
  // The form is for the current selection, not for the one that was just excluded.
  const recorded = done?.conditions.join("\n") === conditions.join("\n");
  // Trials that were just excluded aren't found any more; the page still confirms it.
  if (n === 0 && !recorded) return null;
  return (
    <details className="more">
      <summary>{label}</summary>
      {recorded ? (
        <p className="done" role="status">
          Recorded. <Link href={PAGES.exclusions.path}>All exclusions</Link>
        </p>
      ) : conditions.length === 0 ? (
        <p className="nothing">
          Add a condition first. A rule without conditions would exclude every trial.
        </p>
      ) : (
        <form
          className="stacked"
          onSubmit={(event) => {
            event.preventDefault();
            void make("POST", "/api/exclusions", { conditions, author, reason });
          }}
        >
          <p>
            Excludes {trials(n)} from every analysis, and every later trial with{" "}
            <code>{conditions.join(" and ")}</code>. Nothing is deleted.
          </p>
          <Field label="Reason" value={reason} onChange={setReason} required maxLength={1000} />
          <YourName value={author} onChange={setAuthor} />
          <button type="submit" disabled={sending}>
            Exclude
          </button>
        </form>
      )}
      {problem && <ProblemBox problem={problem} />}
    </details>
  );
}
