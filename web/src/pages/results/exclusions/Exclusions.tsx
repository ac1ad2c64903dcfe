// The recorded rules that exclude trials from analyses, with their reasons.

import { Link } from "wouter";
import { useTwin } from "../../../data";
import { moment, trials } from "../../../format";
import { PAGES } from "../../../generated/pages";
import type { Exclusion } from "../../../generated/types";
import { Page, Pending, ProblemBox } from "../../../parts/Page";
import { useAuthor, useChange, useMayWrite } from "../../../parts/server/changes";
import { YourName } from "../../../parts/server/YourName";

/** The trials that a rule covers, excluded ones among them. */
function covered(conditions: readonly string[]): string {
  const search = new URLSearchParams({ excluded: "1" });
  for (const condition of conditions) search.append("where", condition);
  return `${PAGES.repository.path}?${search}`;
}

function Rule({ rule }: { rule: Exclusion }) {
  const { make, problem, sending } = useChange();
  const [author, setAuthor] = useAuthor();
  const may = useMayWrite();
  return (
    <li id={rule.id}>
      <h3>{rule.reason}</h3>
      <p>
        {rule.author.text}, {moment(rule.created_at)} ·{" "}
        <Link href={covered(rule.conditions)}>{trials(rule.trials)}</Link>
      </p>
      <ul className="chips">
        {rule.conditions.map((condition) => (
          <li key={condition} className="chip">
            {condition}
          </li>
        ))}
      </ul>
      {rule.revoked_at && (
        <p>
          Revoked by {rule.revoked_by?.text}, {moment(rule.revoked_at)}: its trials count again.
        </p>
      )}
      {!rule.revoked_at && may && (
        <details className="more">
          <summary>Revoke</summary>
          <form
            className="stacked"
            onSubmit={(event) => {
              event.preventDefault();
              const id = encodeURIComponent(rule.id);
              void make("POST", `/api/exclusions/${id}/revoke`, { author });
            }}
          >
            <YourName value={author} onChange={setAuthor} />
            <button type="submit" disabled={sending}>
              Revoke: its trials count again
            </button>
          </form>
        </details>
      )}
      {problem && <ProblemBox problem={problem} />}
    </li>
  );
}

function Rules({ title, rules }: { title: string; rules: readonly Exclusion[] }) {
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      <ul className="tiles wide">
        {rules.map((rule) => (
          <Rule key={rule.id} rule={rule} />
        ))}
      </ul>
    </section>
  );
}

export default function ExclusionsPage() {
  const { data, problem, pending } = useTwin("/api/exclusions");
  const active = data?.exclusions.filter(({ revoked_at }) => revoked_at === null) ?? [];
  const revoked = data?.exclusions.filter(({ revoked_at }) => revoked_at !== null) ?? [];
  return (
    <Page
      title={PAGES.exclusions.title}
      intro="A rule excludes matching trials from every analysis, for a stated reason, until someone revokes it. It deletes nothing."
    >
      {pending && <Pending what="exclusions" />}
      {problem && <ProblemBox problem={problem} />}
      {data && active.length === 0 && (
        <p className="nothing">
          No trial is excluded. To exclude some, select them in the{" "}
          <Link href={PAGES.repository.path}>repository</Link> and give a reason.
        </p>
      )}
      {active.length > 0 && <Rules title="Active" rules={active} />}
      {revoked.length > 0 && <Rules title="Revoked" rules={revoked} />}
    </Page>
  );
}
