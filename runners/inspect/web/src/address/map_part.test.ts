import { describe, expect, it } from "vitest";
import { read } from "./address.svelte";
import { choicesOf, filterOf } from "./filter";
import { drawnOf, held, inWords, mapPartOf, mapPartText } from "./map_part";

const box = { layer: "text.embedding", box: [-0.5, 0.5, 0, 1] as [number, number, number, number] };
const queryOf = (text: string | null): ReadonlyMap<string, string> => read(`#/map?map=${encodeURIComponent(text ?? "")}`).query;

describe("a part of the map in the address", () => {
  it("is read as it was written, and is a part of every filter", () => {
    for (const part of [box, { layer: "image.embedding", cluster: 3, among: { language: "kor_Hang" } }]) {
      const query = queryOf(mapPartText(part));
      expect(mapPartOf(query)).toEqual(part);
      expect(filterOf(query).map).toEqual(part);
      expect(choicesOf(query)).toEqual([{ key: "map", name: "map", value: inWords(part) }]);
    }
    expect(mapPartText({ ...box, among: {} })).toBe(JSON.stringify(box));
  });
  it("is nothing where the address was cut off or made up", () => {
    for (const text of ["{", "7", "{}", '{"layer":"a"}', '{"layer":"a","box":[1]}', '{"layer":"a","box":[1,2,3,"4"]}', '{"layer":"a","cluster":1,"box":[1,2,3,4]}'])
      expect(filterOf(queryOf(text)).map).toBeUndefined();
  });
  it("holds the points on its edges", () => {
    const points = { x: [-0.5, 0.5, 0, 0.6], y: [0, 1, 2, 0.5], cluster: [0, 1, 1, 0] };
    expect(held(box, points)).toEqual([0, 1]);
    expect(held({ layer: "a", cluster: 1 }, points)).toEqual([1, 2]);
  });
  it("is drawn again of the rows that it was drawn of", () => {
    const query = queryOf(mapPartText({ ...box, among: { source: "a" } }));
    expect(drawnOf(query, { ...filterOf(query), language: "x" })).toEqual({ source: "a" });
    expect(drawnOf(queryOf(null), { language: "x" })).toEqual({ language: "x" });
  });
});
