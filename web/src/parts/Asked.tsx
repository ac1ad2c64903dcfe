// The question of a page, the command that answers it in a terminal, and ways to keep the answer.
import { useLocation } from "wouter";
import { askedInWords } from "../asked";
import { quoted } from "../commands";
import { exported } from "../data";
import { useSearch } from "../state";
import { canonical } from "../url";
import { SaveView } from "./SaveView";

function Command({ what, text }: { what: string; text: string }) {
  return (
    <div>
      <dt>{what}</dt>
      <dd>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable */}
        <pre tabIndex={0}>{text}</pre>
      </dd>
    </div>
  );
}

/** Ways to keep an analysis: saved, as a file, as a command. A file shows its question. */
export function Asked({ command }: { command?: string | undefined }) {
  const [path] = useLocation();
  const [search] = useSearch();
  const words = askedInWords(search);
  if (exported)
    return words || command ? (
      <p className="aside">
        {words && `This page shows trials ${words}. `}
        {command && (
          <>
            To filter or change it, use <code>venturi serve</code>, or a terminal:{" "}
            <code>{command}</code>
          </>
        )}
      </p>
    ) : null;
  const file = `${path.slice(1)}.html`;
  return (
    <div className="tools">
      <SaveView />
      <details className="more">
        <summary>Export, or run in a terminal</summary>
        <dl className="commands">
          {command && <Command what="The same result in a terminal" text={command} />}
          <Command
            what="This page with its data as one HTML file"
            text={`venturi report ${quoted(canonical(path, search))} -o ${file}`}
          />
        </dl>
      </details>
    </div>
  );
}
