// The pages as they are served.
import "./app.css";
import { createRoot } from "react-dom/client";
import { App } from "./app";
import { recallTheme } from "./state";

recallTheme();
const place = document.getElementById("app");
if (place) createRoot(place).render(<App />);
