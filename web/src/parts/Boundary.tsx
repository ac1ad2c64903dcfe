// A page that breaks says so, and the others can still be reached.
import { Component, type ReactNode, useEffect, useRef } from "react";
import { problemOf, useGoneSince } from "../data";
import type { Problem } from "../generated/types";
import { Page, ProblemBox } from "./Page";

/** A button to reload; while the server is gone, the page reloads by itself once it answers. */
function Again() {
  const gone = useGoneSince() !== null;
  const was = useRef(gone);
  useEffect(() => {
    if (was.current && !gone) window.location.reload();
    was.current = gone;
  }, [gone]);
  return gone ? null : (
    <p>
      <button type="button" onClick={() => window.location.reload()}>
        Reload the page
      </button>
    </p>
  );
}

/** Shows its children, or their error; give it a new `key` to try again. */
export class Boundary extends Component<{ children: ReactNode }, { problem?: Problem }> {
  override state: { problem?: Problem } = {};

  static getDerivedStateFromError(error: unknown) {
    return { problem: problemOf(error) };
  }

  override render() {
    const { problem } = this.state;
    if (!problem) return this.props.children;
    const bug = problem.code === "VEN-WEB-BUG";
    return (
      <Page
        title={bug ? "This page failed" : problem.title}
        intro={bug ? "Reload it, or open another page." : undefined}
      >
        <ProblemBox problem={problem} />
        <Again />
      </Page>
    );
  }
}
