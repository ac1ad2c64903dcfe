// The pages as they are served.
import "./app.css";
import { createRoot } from "react-dom/client";
import { App } from "./app";
import { Refused } from "./data";
import { recallTheme } from "./state";

recallTheme();
/** A refusal is shown on its page; only bugs go to the console too. */
const onCaughtError = (error: unknown) => {
  if (!(error instanceof Refused)) console.error(error);
};

const place = document.getElementById("app");
if (place) createRoot(place, { onCaughtError }).render(<App />);
