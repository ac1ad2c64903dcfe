import { expect, test } from "vitest";
import type { Fact } from "../../src/generated/types";
import { rangeText, valueText } from "../../src/pages/machines/catalog/facts";

const fact = (more: Partial<Fact>): Fact => ({
  value: 6.82,
  unit: "USD/h",
  kind: "advertised",
  source: "",
  as_of: null,
  note: "",
  low: null,
  high: null,
  ...more,
});

test("a value has its unit, and a whole one all its digits", () => {
  expect(valueText(fact({}))).toBe("6.82 USD/h");
  expect(valueText(fact({ value: 1_234_567, unit: "1" }))).toBe("1,234,567");
  expect(valueText(fact({ value: "SSD", unit: "" }))).toBe("SSD");
  expect(valueText(fact({ value: null }))).toBe("—");
  expect(valueText(null)).toBe("—");
});

test("a range has both ends, as far as they are known", () => {
  expect(rangeText(fact({ low: 1085, high: 1095 }))).toBe("1,085 to 1,095");
  expect(rangeText(fact({ low: 1085 }))).toBe("1,085 to —");
  expect(rangeText(fact({}))).toBe("");
});
