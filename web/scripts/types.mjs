// Makes the types of what the API answers, and of a trial's record, from their schemas.
// node scripts/types.mjs [--check]
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { compile } from "json-schema-to-typescript";

const schema = (name) =>
  JSON.parse(readFileSync(new URL(`../../schema/${name}`, import.meta.url), "utf8"));

/** A schema as the compiler wants it: no titles (each would be a type), tuples, local references. */
function plain(node) {
  if (Array.isArray(node)) return node.map(plain);
  if (typeof node !== "object" || node === null) return node;
  // How long a list may be is for the server to check: as a type it is a union of all lengths.
  const {
    title,
    description,
    prefixItems,
    examples,
    minItems,
    maxItems,
    default: _,
    ...rest
  } = node;
  const result = {};
  for (const [key, value] of Object.entries(rest)) {
    if (key === "$ref") result[key] = `#/definitions/${value.split("/").at(-1)}`;
    else if (key === "properties") {
      const named = Object.entries(value).map(([name, each]) => [name, plain(each)]);
      result[key] = Object.fromEntries(named);
    } else result[key] = plain(value);
  }
  if (prefixItems) {
    result.items = prefixItems.map(plain);
    result.minItems = result.maxItems = prefixItems.length;
  }
  // Answers have all their fields, also those that have a default in Python.
  if (result.properties) result.required = Object.keys(result.properties);
  return result;
}

async function made(from, schemas) {
  const named = Object.entries(schemas).map(([name, each]) => [
    name,
    { ...plain(each), title: name },
  ]);
  const text = await compile({ definitions: Object.fromEntries(named) }, "Root", {
    bannerComment: `// Made from schema/${from} by scripts/types.mjs: \`npm run types\`.`,
    additionalProperties: false,
    unreachableDefinitions: true,
    style: { printWidth: 100 },
  });
  // The root that only holds the definitions is no type of ours; comments only speak of it.
  return text.replace(/export interface Root \{[^}]*\}\n/, "").replace(/\/\*\*.*?\*\/\n/gs, "");
}

/** What is answered as JSON at each path, and is in files at others. */
function twins({ paths, "x-in-files": inFiles }) {
  const answers = Object.entries(paths).flatMap(([path, { get }]) => {
    const shape = get?.responses["200"]?.content?.["application/json"]?.schema;
    return shape ? [[path, shape]] : [];
  });
  const lines = [...answers, ...Object.entries(inFiles)].map(
    ([path, { $ref }]) => `  "${path}": ${$ref.split("/").at(-1)};\n`,
  );
  return `\nexport interface Twins {\n${lines.join("")}}\n`;
}

const api = schema("openapi.json");
const { $defs, ...trial } = schema("trial.schema.json");
const files = {
  "types.ts": (await made("openapi.json", api.components.schemas)) + twins(api),
  "record.ts": await made("trial.schema.json", { ...$defs, Trial: trial }),
};
for (const [name, text] of Object.entries(files)) {
  const file = new URL(`../src/generated/${name}`, import.meta.url);
  if (!process.argv.includes("--check")) writeFileSync(file, text);
  else if (!existsSync(file) || readFileSync(file, "utf8") !== text) {
    console.error(`src/generated/${name} is not what the schema says: npm run types`);
    process.exitCode = 1;
  }
}
