import { describe, expect, it } from "vitest";
import { niceStep, positionOf, rounded, valueAt } from "./scale";

const EDGES = [0, 1, 10, 100];

describe("a histogram's scale", () => {
  it("gives every bin the same width", () => {
    expect([0, 1, 10, 100].map((value) => positionOf(EDGES, value))).toEqual([0, 1 / 3, 2 / 3, 1]);
  });
  it("puts values beyond the edges at the ends", () => {
    expect([positionOf(EDGES, -5), positionOf(EDGES, 1e9)]).toEqual([0, 1]);
  });
  it("finds the value of a position again", () => {
    for (const value of [0, 0.25, 1, 3.7, 10, 55, 100]) expect(valueAt(EDGES, positionOf(EDGES, value))).toBeCloseTo(value, 9);
  });
  it("has nothing to place without bins", () => {
    expect([positionOf([], 3), positionOf([2], 3), valueAt([2], 0.5)]).toEqual([0, 0, 2]);
  });
});

describe("a slider's step", () => {
  it("is 1, 2 or 5 times a power of ten", () => {
    expect([niceStep(0, 1, false), niceStep(0, 200, false), niceStep(0, 5000, false)]).toEqual([0.005, 1, 50]);
  });
  it("is at least 1 for whole numbers", () => {
    expect(niceStep(0, 10, true)).toBe(1);
  });
  it("leaves no noise of binary fractions", () => {
    expect(rounded(0.30000000000000004, 0.005)).toBe(0.3);
    expect(rounded(1234.4, 50)).toBe(1250);
  });
});
