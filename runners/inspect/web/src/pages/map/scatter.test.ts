import { expect, it } from "vitest";
import { apart, boxOf, frameOf, nearest, placesOf, shortened } from "./scatter";

const X = [0, 10, 5];
const Y = [0, 10, 5];
const FRAME = frameOf(X, Y, 200, 124);

it("fits all points by one scale", () => {
  expect(FRAME.scale).toBe(10);
});

it("selects by a box in the places of data, however it was dragged", () => {
  expect(placesOf(FRAME, boxOf([110, 70], [90, 50]))).toEqual([4, 6, 3.8, 5.8]);
});

it("finds the nearest point within reach", () => {
  expect(nearest(X, Y, FRAME, [103, 60])).toBe(2);
  expect(nearest(X, Y, FRAME, [150, 60])).toBeNull();
});

it("writes names that lie over none of a larger cluster, and not all of a long one", () => {
  const names = [
    { words: "law court", x: 50, y: 50 },
    { words: "judge", x: 60, y: 55 },
    { words: "news", x: 150, y: 50 },
    { words: "", x: 300, y: 300 },
  ];
  expect(apart(names, () => 40, 400).map((name) => name.words)).toEqual(["law court", "news"]);
  expect(apart([{ words: "tide", x: 3, y: 9 }, { words: "oven", x: 199, y: 9 }], () => 40, 200).map((name) => name.x)).toEqual([24, 176]);
  expect(shortened("a".repeat(40))).toBe(`${"a".repeat(27)}…`);
});
