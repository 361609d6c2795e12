import { expect, test } from "vitest";
import { placeInWords } from "./place";

test("a place says what it is counted in", () => {
  const at = { source: "books", offset: 1520, length: 59 };
  expect(["bytes", "member", "stream", "rows", null].map((unit) => placeInWords({ ...at, unit }))).toEqual([
    "books · at byte 1,520 · 59 bytes",
    "books · at byte 1,520 · 59 bytes",
    "books · at decompressed byte 1,520 · 59 bytes",
    "books · at row 1,520 · 59 rows",
    "books · at byte 1,520 · 59 bytes",
  ]);
  expect(placeInWords({ source: "books", unit: "rows", offset: 7, length: 1 })).toBe("books · at row 7 · 1 row");
  expect(placeInWords({ source: "books", unit: null, offset: null, length: null })).toBe("books");
});
