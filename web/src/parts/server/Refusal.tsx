// A refusal, and the ways on: the likely intended question, or the one without the refused part.
import { Link, useLocation } from "wouter";
import { exported } from "../../data";
import type { Problem } from "../../generated/types";
import { waysOut } from "../../mending";
import { useSearch } from "../../state";
import { href } from "../../url";
import { ProblemBox } from "../Page";

export function Refusal({ problem }: { problem: Problem }) {
  const [path] = useLocation();
  const [search] = useSearch();
  const ways = exported ? [] : waysOut(search, problem);
  return (
    <>
      <ProblemBox problem={problem} />
      {ways.length > 0 && (
        <ul className="actions ways-out">
          {ways.map(({ text, search: next }) => (
            <li key={text}>
              <Link className="button" href={href(path, next)}>
                {text}
              </Link>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
