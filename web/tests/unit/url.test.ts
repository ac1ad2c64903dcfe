import { expect, test } from "vitest";
import { askedInWords } from "../../src/asked";
import { commandOf } from "../../src/commands";
import type { Problem, TrialRow } from "../../src/generated/types";
import { waysOut } from "../../src/mending";
import { comparisonOf } from "../../src/parts/bulk";
import { canonical, href, isGroup, selectionOf, trialsAt } from "../../src/url";

const query = (text: string) => new URLSearchParams(text);

test("one spelling of a question, the server's", () => {
  const asked = query("where=disk%3DSSD&sort=a+b~*&columns=state&tab=2&log=1");
  expect(canonical("/api/trials", asked)).toBe("/api/trials?sort=a+b%7E*&where=disk%3DSSD");
  expect(canonical("/api/trials", query("tab=2"))).toBe("/api/trials");
});

test("values of one name keep their order, as it has a meaning", () => {
  expect(canonical("/api/cost", query("where=b&by=net&where=a&by=disk"))).toBe(
    "/api/cost?by=net&by=disk&where=b&where=a",
  );
});

test("conditions go along to the next page, and nothing else", () => {
  const next = selectionOf(query("by=net&where=a%3D1&excluded=1&cursor=x&where=b%3D%25"));
  expect(href("/cost", next)).toBe("/cost?where=a%3D1&where=b%3D%25&excluded=1");
  expect(href("/cost", selectionOf(query("by=net")))).toBe("/cost");
});

test("a group is a JSON list with a value for each key", () => {
  expect(isGroup('["IB","SSD"]', ["net", "disk"])).toBe(true);
  for (const text of ["", "IB", '["IB"]', '{"net":"IB"}', "[1,2,3]"]) {
    expect(isGroup(text, ["net", "disk"])).toBe(false);
  }
});

const row = (group: string, more: object): TrialRow =>
  ({ group, workload: "terasort", engine: "spark", configuration: {}, ...more }) as TrialRow;

test("picked trials are compared by what differs between their groups", () => {
  const picked = [
    row("g1", { network: "IB", configuration: { maps: 2, same: 1 } }),
    row("g1", { network: "IB", configuration: { maps: 2, same: 1 } }),
    row("g2", { network: "ETH", configuration: { maps: "2", same: 1 } }),
  ];
  const found = new URL(comparisonOf(picked) ?? "", "http://localhost");
  expect(found.pathname).toBe("/compare");
  expect(found.searchParams.getAll("where")).toEqual(["group=g1", "group=g2"]);
  expect(found.searchParams.getAll("by")).toEqual(["network"]);
  expect(found.searchParams.getAll("group")).toEqual(['["IB"]', '["ETH"]']);
});

test("trials of one group are nothing to compare; what nothing tells apart is named by its group", () => {
  expect(comparisonOf([row("g1", {}), row("g1", {})])).toBeUndefined();
  const found = new URL(comparisonOf([row("g1", {}), row("g2", {})]) ?? "", "http://localhost");
  expect(found.searchParams.getAll("by")).toEqual(["group"]);
});

test("the trials behind a group: its values stand in place of conditions on the same keys", () => {
  const asked = query("by=disk&where=disk%3DSSD&where=disk%3DHDD&where=net%3DIB&excluded=1");
  const found = new URL(
    trialsAt(asked, [
      ["disk", "SSD"],
      ["scale", null],
    ]),
    "http://localhost",
  );
  expect(found.pathname).toBe("/trials");
  expect(found.searchParams.getAll("where")).toEqual(["net=IB", "disk=SSD", "scale="]);
  expect(found.searchParams.get("excluded")).toBe("1");
  expect(
    trialsAt(query(""), [
      ["disk", "SSD"],
      ["disk", "HDD"],
    ]),
  ).toBe("/trials?where=disk%3DSSD&where=disk%3DHDD");
});

test("what was asked in words, and as a command", () => {
  const asked = query("by=net&by=disk&where=workload%3Dtera+sort&where=group%3Dabc&objective=cost");
  expect(askedInWords(asked)).toBe("by net and disk, of 1 picked, where workload=tera sort");
  expect(askedInWords(query("log=1"))).toBe("");
  expect(askedInWords(query("key=configuration.disk&x=input_bytes"))).toBe(
    "of disk, with input bytes",
  );
  expect(commandOf("/cost", asked)).toBe(
    "venturi rank --by net --by disk --objective cost --where 'workload=tera sort' --where group=abc",
  );
});

test("ways out of what was refused: what was perhaps meant, and the question without it", () => {
  const out = (asked: string, field: string, hint: string) =>
    waysOut(query(asked), { where: { field }, hint } as unknown as Problem).map(
      ({ text, search }) => [text, search.toString()],
    );
  expect(
    out("by=disk&where=workload%3Dterasrt", "workload", "did you mean terasort or prep_terasort?"),
  ).toEqual([
    ["terasort", "by=disk&where=workload%3Dterasort"],
    ["prep_terasort", "by=disk&where=workload%3Dprep_terasort"],
    ["continue without workload", "by=disk"],
  ]);
  const keys = "did you mean disk? `venturi keys` lists them";
  expect(out("by=dsk&by=net", "dsk", keys)[0]).toEqual(["disk", "by=disk&by=net"]);
  expect(out("where=dsk%3DSSD", "dsk", keys)[0]).toEqual(["disk", "where=disk%3DSSD"]);
  expect(out("by=disk", "elsewhere", keys)).toEqual([]);
});
