// Makes the types of what the API answers, and of a trial's record, from their schemas.
// node scripts/types.mjs [--check]
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
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

/** The shape of what is answered as JSON at each path, or is in files at others. */
function answers({ paths, "x-in-files": inFiles }) {
  const told = Object.entries(paths).flatMap(([path, { get }]) => {
    const shape = get?.responses["200"]?.content?.["application/json"]?.schema;
    return shape ? [[path, shape]] : [];
  });
  return [...told, ...Object.entries(inFiles)];
}

const named = ({ $ref }) => $ref.split("/").at(-1);

/** The types of `text` by the concept whose answers alone have them; of several: "shared". */
function byConcept(text, twins) {
  const types = text.split(/^(?=export )/m).slice(1);
  const bodies = new Map(types.map((type) => [/^export \w+ (\w+)/.exec(type)[1], type]));
  const used = (type) => (bodies.get(type).match(/\b[A-Z]\w*/g) ?? []).filter((x) => bodies.has(x));
  const concepts = new Map();
  function reach(type, concept) {
    const known = concepts.get(type) ?? new Set();
    if (known.has(concept)) return;
    concepts.set(type, known.add(concept));
    for (const each of used(type)) reach(each, concept);
  }
  for (const [path, shape] of twins) {
    if (shape.$ref) reach(named(shape), path.replace("/api", "").split("/")[1] || "start");
  }
  const fileOf = (type) => {
    const [first, ...others] = concepts.get(type) ?? [];
    return first && others.length === 0 ? first : "shared";
  };
  const files = {};
  for (const [type, body] of bodies) {
    const mine = fileOf(type);
    files[mine] ??= { own: [], from: {} };
    files[mine].own.push(body);
    for (const each of used(type)) {
      const theirs = fileOf(each);
      if (theirs === mine) continue;
      files[mine].from[theirs] ??= new Set();
      files[mine].from[theirs].add(each);
    }
  }
  return files;
}

const NOTE = "// Made from schema/openapi.json by scripts/types.mjs: `npm run types`.\n\n";
const api = schema("openapi.json");
const twins = answers(api);
const concepts = byConcept(await made("openapi.json", api.components.schemas), twins);
const { $defs, ...trial } = schema("trial.schema.json");
const roots = [...new Set(twins.map(([, shape]) => named(shape)))].sort();
const files = {
  "types.ts":
    NOTE +
    `import type {\n${roots.map((each) => `  ${each},\n`).join("")}} from "./api";\n\n` +
    'export type * from "./api";\n\n' +
    "export interface Endpoints {\n" +
    `${twins.map(([path, shape]) => `  "${path}": ${named(shape)};\n`).join("")}}\n`,
  "api/index.ts":
    NOTE +
    Object.keys(concepts)
      .sort()
      .map((each) => `export type * from "./${each}";\n`)
      .join(""),
  "record.ts": await made("trial.schema.json", { ...$defs, Trial: trial }),
};
for (const [concept, { own, from }] of Object.entries(concepts)) {
  const imports = Object.entries(from).map(
    ([file, types]) => `import type { ${[...types].sort().join(", ")} } from "./${file}";\n`,
  );
  files[`api/${concept}.ts`] = `${NOTE}${imports.sort().join("")}\n${own.join("")}`;
}

const folder = new URL("../src/generated/", import.meta.url);
const check = process.argv.includes("--check");
mkdirSync(new URL("api/", folder), { recursive: true });
for (const name of readdirSync(new URL("api/", folder)).map((each) => `api/${each}`)) {
  if (name in files) continue;
  if (!check) rmSync(new URL(name, folder));
  else stale(name);
}
for (const [name, text] of Object.entries(files)) {
  const file = new URL(name, folder);
  if (!check) writeFileSync(file, text);
  else if (!existsSync(file) || readFileSync(file, "utf8") !== text) stale(name);
}

function stale(name) {
  console.error(`src/generated/${name} is not what the schema says: npm run types`);
  process.exitCode = 1;
}
