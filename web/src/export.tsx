// One page of the application in one file: its data are in the file, and nothing asks a server.
import "./app.css";
import "./parts/sections.css";
import { createRoot } from "react-dom/client";
import { Router } from "wouter";
import { memoryLocation } from "wouter/memory-location";
import { App } from "./app";
import { canonical } from "./url";

const SAID_MS = 6000;
const place = document.getElementById("app");
const page = place?.dataset.page ?? "/";

/** Whether `url` is this page, maybe shown in another way: then its data are in the file. */
function isHere(url: string): boolean {
  const [there, here] = [url, page].map((each) => {
    const { pathname, searchParams } = new URL(each, "http://localhost");
    return canonical(pathname, searchParams);
  });
  return there === here;
}

const note = document.createElement("p");
note.className = "server-note";
note.setAttribute("role", "status");
let saying = 0;

function sayWhy(): void {
  note.textContent =
    "This file contains one page with its data. Everything else needs the server (venturi serve).";
  window.clearTimeout(saying);
  saying = window.setTimeout(() => note.replaceChildren(), SAID_MS);
}

const memory = memoryLocation({ path: page });

/** Where the page is: whatever leads elsewhere is said to need the server. */
const useHere: typeof memory.hook = () => {
  const [path, navigate] = memory.hook();
  const go: typeof navigate = (to, options) => {
    if (isHere(to)) navigate(to, options);
    else sayWhy();
  };
  return [path, go];
};

/** Links to other pages become text, those that look like buttons or fetch a file go away. */
function unlink(root: HTMLElement): void {
  for (const link of root.querySelectorAll<HTMLAnchorElement>('a[href^="/"]')) {
    const url = link.getAttribute("href") ?? "";
    if (isHere(url)) continue;
    link.removeAttribute("href");
    link.hidden = url.startsWith("/api/") || link.classList.contains("button");
  }
}

if (place) {
  document.documentElement.dataset.exported = "";
  document.body.append(note);
  // A link without an address is no link, for the mouse neither.
  window.addEventListener(
    "click",
    (event) => {
      const link = event.target instanceof Element ? event.target.closest("a:not([href])") : null;
      if (link) event.stopImmediatePropagation();
    },
    true,
  );
  new MutationObserver(() => unlink(place)).observe(place, {
    subtree: true,
    childList: true,
    attributeFilter: ["href"],
  });
  createRoot(place).render(
    <Router hook={useHere} searchHook={memory.searchHook}>
      <App />
    </Router>,
  );
}
