// Prints the commands of pages: reads a JSON list of URLs, writes one of commands or nulls.
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { runnerImport } from "vite";

const path = fileURLToPath(new URL("../src/commands.ts", import.meta.url));
const { module } = await runnerImport(path, { configFile: false, logLevel: "error" });
const commands = JSON.parse(await text(process.stdin)).map((url) => {
  const { pathname, searchParams } = new URL(url, "http://localhost");
  return module.commandOf(pathname, searchParams) ?? null;
});
process.stdout.write(JSON.stringify(commands));
