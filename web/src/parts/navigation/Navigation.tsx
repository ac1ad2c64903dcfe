// The navigation of all pages: a group for each topic, and the question of the open one.
import { Link, useLocation } from "wouter";
import { PAGES } from "../../generated/pages";
import { useSearch } from "../../state";
import { href, selectionOf } from "../../url";
import "./navigation.css";
import { BY_TOPIC, isOpen } from "./topics";

const IN_MENU = BY_TOPIC.map((group) => ({
  ...group,
  pages: group.pages.filter(({ menu, path }) => menu && path !== PAGES.start.path),
})).filter(({ pages }) => pages.length > 0);

/** The overview, then a group for each topic. */
const GROUPS = [{ topic: "start", name: "Start", question: "", pages: [PAGES.start] }, ...IN_MENU];

export function Navigation() {
  const [path] = useLocation();
  const [search] = useSearch();
  const selection = selectionOf(search);
  const open = IN_MENU.find(({ pages }) => pages.some(({ path: to }) => isOpen(to, path)));
  return (
    <nav aria-label="Pages">
      <ul className="topics">
        {GROUPS.map(({ topic, name, question, pages }) => (
          <li key={topic}>
            <span className="topic" id={`topic-${topic}`} title={question}>
              {name}
              {question && <span className="visually-hidden">: {question}</span>}
            </span>
            <ul aria-labelledby={`topic-${topic}`}>
              {pages.map(({ path: to, menu, selects }) => (
                <li key={to}>
                  <Link
                    href={selects ? href(to, selection) : to}
                    aria-current={isOpen(to, path) ? "page" : undefined}
                  >
                    {menu}
                  </Link>
                </li>
              ))}
            </ul>
          </li>
        ))}
      </ul>
      {open && (
        <p className="topic-question" aria-hidden="true">
          {open.name}: {open.question}
        </p>
      )}
    </nav>
  );
}
