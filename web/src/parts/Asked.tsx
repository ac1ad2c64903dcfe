// What was asked, how to ask it again elsewhere, and how to keep it.
import { useLocation } from "wouter";
import { askedInWords, quoted } from "../asked";
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

/** Ways to keep an analysis: saved, as a file, as a command. A file says what it was asked. */
export function Asked({ command }: { command?: string | undefined }) {
  const [path] = useLocation();
  const [search] = useSearch();
  const words = askedInWords(search);
  if (exported)
    return words || command ? (
      <p className="aside">
        {words && `Asked ${words}. `}
        {command && (
          <>
            On the terminal: <code>{command}</code>
          </>
        )}
      </p>
    ) : null;
  const file = `${path.slice(1)}.html`;
  return (
    <div className="tools">
      <SaveView />
      <details className="more">
        <summary>Export, or ask on the terminal</summary>
        <dl className="commands">
          {command && <Command what="The same answer on the terminal" text={command} />}
          <Command
            what="This page in one file that opens anywhere, with its data"
            text={`venturi report ${quoted(canonical(path, search))} -o ${file}`}
          />
        </dl>
      </details>
    </div>
  );
}
