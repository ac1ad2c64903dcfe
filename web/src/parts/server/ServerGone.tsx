// The sign that the server doesn't answer, and that the page shows its earlier answers.
import { useEffect } from "react";
import { askAgain, client, useGoneSince } from "../../data";

const AGAIN_MS = 5_000;

/** Shows it, and retries until the server answers; then everything is requested again. */
export function ServerGone() {
  const since = useGoneSince();
  const gone = since !== null;
  useEffect(() => {
    if (!gone) return;
    const asking = window.setInterval(
      () => void client.refetchQueries({ queryKey: ["/api/status"] }),
      AGAIN_MS,
    );
    return () => {
      window.clearInterval(asking);
      void askAgain();
    };
  }, [gone]);
  if (since === null) return null;
  const at = new Date(since).toISOString().slice(11, 19);
  return (
    <div className="gone" role="alert">
      <p>
        <strong>The server hasn't answered</strong> since {at} UTC. You see its earlier answers and
        can't save anything. Start it with <code>venturi serve</code>; this page then continues by
        itself.
      </p>
      <button type="button" onClick={() => void askAgain()}>
        Try again
      </button>
    </div>
  );
}
