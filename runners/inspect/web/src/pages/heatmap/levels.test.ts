import { expect, it } from "vitest";
import { levelOf, stepIn } from "./levels";

it("gives nothing no colour, a little some and all the strongest", () => {
  expect([0, 0.0001, 0.01, 0.5, 1].map(levelOf)).toEqual([0, 1, 2, 7, 8]);
});

it("moves by arrows and stays within the grid", () => {
  expect(stepIn("ArrowDown", [0, 2], 3, 4)).toEqual([1, 2]);
  expect(stepIn("End", [1, 0], 3, 4)).toEqual([1, 3]);
  expect(stepIn("ArrowUp", [0, 2], 3, 4)).toBeNull();
  expect(stepIn("a", [0, 2], 3, 4)).toBeNull();
});
