// The frame of every page, and the placeholders for missing data.
import { type ReactNode, useEffect, useRef } from "react";
import type { Problem } from "../generated/types";
import { onPage } from "../here";

let opened = false;

/** A page: its heading takes the focus when the reader came here from another page. */
export function Page({
  title,
  asked = "",
  intro,
  actions,
  children,
}: {
  title: string;
  /** The question, in words: `by disk`. */
  asked?: string;
  intro?: ReactNode;
  actions?: ReactNode;
  children?: ReactNode;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = [title, asked, "Venturi"].filter(Boolean).join(" · ");
  }, [title, asked]);
  useEffect(() => {
    if (opened) {
      window.scrollTo(0, 0);
      heading.current?.focus({ preventScroll: true });
    }
    opened = true;
  }, []);
  return (
    <>
      <div className="page-head">
        <div>
          <h1 ref={heading} tabIndex={-1}>
            {title}
            {asked && <span className="asked"> {asked}</span>}
          </h1>
          {intro && <p className="intro">{intro}</p>}
        </div>
        {actions && <div className="actions">{actions}</div>}
      </div>
      {children}
    </>
  );
}

/** Waiting for data; it keeps the room of `lines` lines so that nothing jumps. */
export function Pending({ what = "data", lines = 6 }: { what?: string; lines?: number }) {
  return (
    <div className="pending" role="status" style={{ minHeight: `${lines * 1.6}em` }}>
      <span>Loading {what} …</span>
    </div>
  );
}

/** A refusal of the API, with its code and a hint. */
export function ProblemBox({ problem }: { problem: Problem }) {
  const where = Object.entries(problem.where);
  // The title of an answer is its status, which means nothing to a reader.
  const said = problem.status > 0 && problem.detail ? problem.detail : undefined;
  return (
    <div className="failure" role="alert">
      <p>
        <strong>{said ?? problem.title}</strong>
        {!said && problem.detail && problem.detail !== problem.title ? `: ${problem.detail}` : ""}
      </p>
      {where.length > 0 && (
        <p className="aside">{where.map(([key, value]) => `${key}: ${value}`).join(", ")}</p>
      )}
      {problem.hint && <p>{onPage(problem.hint)}</p>}
      <p className="aside">
        <code>{problem.code}</code>
      </p>
    </div>
  );
}

/** A value that is not known, and why. */
export function Missing({ reason }: { reason: string }) {
  return (
    <span className="missing">
      — <span className="reason">{reason}</span>
    </span>
  );
}

const NOTICES_OPEN = 3;

/** Sentences that qualify what is shown; of many the rest is folded away. */
export function Notices({ texts }: { texts: readonly string[] }) {
  const list = (some: readonly string[]) => (
    <ul className="notices">
      {some.map((text) => (
        <li key={text}>{onPage(text)}</li>
      ))}
    </ul>
  );
  if (texts.length === 0) return null;
  if (texts.length <= NOTICES_OPEN + 1) return list(texts);
  return (
    <div>
      {list(texts.slice(0, NOTICES_OPEN))}
      <details className="further">
        <summary>{texts.length - NOTICES_OPEN} more notes</summary>
        {list(texts.slice(NOTICES_OPEN))}
      </details>
    </div>
  );
}
