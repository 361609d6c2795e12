import { expect, it } from "vitest";
import { heights } from "./sizes";

it("draws clusters of several rows, so that a few are seen beside many", () => {
  const bars = heights({ "1": 9_000_000, "2": 100_000, "3-4": 1, "5-9": 0 });
  expect(bars.map((bar) => bar.size)).toEqual(["2", "3-4", "5-9"]);
  expect(bars[0]?.tall).toBe(100);
  expect(bars[1]?.tall).toBeGreaterThan(5);
  expect(bars[2]?.tall).toBe(0);
  expect(heights({ "1": 3, "2": 0 })).toEqual([{ size: "2", clusters: 0, tall: 0 }]);
});
