// The door of a server that asks for a token.
import { type FormEvent, useId, useState } from "react";
import { askAgain, problemOf, send } from "../../data";
import type { Problem } from "../../generated/types";
import { Page, ProblemBox } from "../Page";

/** Changes the token for a session; the token goes into the body, never into a URL. */
export function Login() {
  const id = useId();
  const [token, setToken] = useState("");
  const [refused, setRefused] = useState<Problem>();
  const [sending, setSending] = useState(false);
  const enter = async (event: FormEvent) => {
    event.preventDefault();
    setSending(true);
    try {
      await send("POST", "/api/session", { token });
      await askAgain();
    } catch (error) {
      setRefused(problemOf(error));
      setSending(false);
    }
  };
  return (
    <Page title="Log in" intro="This server requires a token. Ask its administrator for one.">
      <form className="card stacked" onSubmit={enter}>
        <div className="field">
          <label htmlFor={id}>Token</label>
          <input
            id={id}
            type="password"
            autoComplete="current-password"
            required
            value={token}
            onChange={({ target }) => setToken(target.value)}
          />
        </div>
        <button type="submit" className="main" disabled={sending}>
          Open
        </button>
        {refused && <ProblemBox problem={refused} />}
      </form>
    </Page>
  );
}
