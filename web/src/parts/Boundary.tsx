// A page that breaks says so, and the others can still be reached.
import { Component, type ReactNode } from "react";
import { problemOf } from "../data";
import type { Problem } from "../generated/types";
import { Page, ProblemBox } from "./Page";

/** Shows its children, or what became of them; give it a new `key` to try again. */
export class Boundary extends Component<{ children: ReactNode }, { problem?: Problem }> {
  override state: { problem?: Problem } = {};

  static getDerivedStateFromError(error: unknown) {
    return { problem: problemOf(error) };
  }

  override render() {
    const { problem } = this.state;
    if (!problem) return this.props.children;
    return (
      <Page title="This page failed" intro="Load it again, or go on to another page.">
        <ProblemBox problem={problem} />
      </Page>
    );
  }
}
