import { expect, it } from "vitest";
import { isUnsafe } from "./unsafe";

it("veils what a layer scores high, item by item", () => {
  const layers = { "image.nsfw": { nsfw: [0.01, 0.9] } };
  expect([isUnsafe(layers, 0), isUnsafe(layers, 1)]).toEqual([false, true]);
});

it("veils nothing that no layer speaks of", () => expect(isUnsafe({ "image.size": { width: [900] }, "text.length": null }, 0)).toBe(false));
