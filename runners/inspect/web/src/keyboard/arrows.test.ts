import { expect, it } from "vitest";
import { inFirstLine } from "./arrows";

it("counts how many cells of a grid stand beside each other, by where each begins", () => {
  expect(inFirstLine([8, 8, 8, 120, 120])).toBe(3);
  expect(inFirstLine([8, 8])).toBe(2);
  expect(inFirstLine([])).toBe(1);
});
