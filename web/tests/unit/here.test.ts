import { expect, test } from "vitest";
import { onPage } from "../../src/here";

test("what a terminal types is said as what the page has", () => {
  expect(
    onPage(
      "--usd-per-node-hour prices every node; or choose one with --where hosts=8, or price them " +
        "with --plus cluster=NAME:USD.",
    ),
  ).toBe(
    "give the price for each node; or keep only hosts=8, or group by cluster and add a price " +
      "for each of them.",
  );
  expect(onPage("confounded by maps: add --where maps=VALUE to hold one of these")).toBe(
    "confounded by maps: filter by maps to hold one of these",
  );
  expect(onPage("add --where workload=sort (3 trials) or another")).toBe(
    "keep only workload=sort (3 trials) or another",
  );
  expect(onPage("leave them out with --where printed_rank=, or group by more")).toBe(
    "keep only trials without printed_rank, or group by more",
  );
  expect(onPage("Nearest: 12 i8g would keep --deadline 90s; 9 d3 would hold it (--nodes 9)")).toBe(
    "Nearest: 12 i8g would keep a deadline of 90s; 9 d3 would hold it (Nodes: 9)",
  );
  expect(onPage("the cluster takes 3 min to start; add --startup 0s if it runs already")).toBe(
    "the cluster takes 3 min to start",
  );
  expect(onPage("give what is missing with --assume or --measured")).not.toMatch(/--/);
});

test("a command stays as it is typed", () => {
  const told = "`venturi simulate --on TYPE:N --loss-per-node-hour X` counts losses";
  expect(onPage(told)).toBe(told);
});
