import { expect, it } from "vitest";
import type { Heatmap, Rules } from "../../server/answers";
import { countedRules } from "./counted";

const rule = { reason: "short", list: "keep", condition: "a < 1", fires: 9, first: 7, cuts: [] };
const rules: Rules = { rules: [rule], rows: 10, kept: 3 };
const among = (all?: { fires: number; first: number }): Heatmap => ({
  languages: [],
  rules: [{ reason: "short", list: "keep", cells: [{ rows: 2, share: 0.1, first: 2 }], ...(all ? { all } : {}) }],
  more_languages: 3,
});

it("counts what rules drop of all rows, or of those chosen, in every language", () => {
  expect(countedRules(rules, null)[0]?.drops).toBe(7);
  expect(countedRules(rules, among({ fires: 6, first: 5 }))[0]?.drops).toBe(5);
  expect(countedRules(rules, among())[0]?.drops).toBe(2);
  expect(countedRules(rules, { ...among(), rules: [] })[0]?.drops).toBe(0);
});

it("does not tell counts of all rows as those of the chosen ones", () => expect(countedRules(rules, "unknown")[0]?.drops).toBeNull());
