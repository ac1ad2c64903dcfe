// The navigation of all pages: a group for each topic, and the question of the open one.
import { Link, useLocation } from "wouter";
import { PAGES } from "../../generated/pages";
import { useSearch } from "../../state";
import { href, selectionOf } from "../../url";
import "./navigation.css";
import { BY_TOPIC, isOpen } from "./topics";

export function Navigation() {
  const [path] = useLocation();
  const [search] = useSearch();
  const selection = selectionOf(search);
  const open = BY_TOPIC.find(({ pages }) =>
    pages.some(({ path: to, menu }) => menu && isOpen(to, path)),
  );
  return (
    <nav aria-label="Pages">
      <ul className="topics">
        {BY_TOPIC.map(({ topic, name, question, pages }) => (
          <li key={topic}>
            <span className="topic" id={`topic-${topic}`} title={question}>
              {name}
              <span className="visually-hidden">: {question}</span>
            </span>
            <ul aria-labelledby={`topic-${topic}`}>
              {pages.map(
                ({ path: to, menu, selects }) =>
                  menu && (
                    <li key={to}>
                      <Link
                        href={selects ? href(to, selection) : to}
                        aria-current={isOpen(to, path) ? "page" : undefined}
                      >
                        {menu}
                      </Link>
                    </li>
                  ),
              )}
            </ul>
          </li>
        ))}
      </ul>
      {open && path !== PAGES.start.path && (
        <p className="topic-question" aria-hidden="true">
          {open.name}: {open.question}
        </p>
      )}
    </nav>
  );
}
