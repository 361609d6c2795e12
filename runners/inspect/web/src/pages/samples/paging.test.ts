import { expect, it } from "vitest";
import { pagesOf } from "./paging";

it("counts the pages of a list, and of a search that goes on", () => {
  expect(pagesOf({ total: 41, page: 0, size: 20, rows: Array(20) })).toBe(3);
  expect(pagesOf({ total: null, page: 1, size: 20, rows: Array(20) })).toBe(3);
  expect(pagesOf({ total: null, page: 1, size: 20, rows: Array(7) })).toBe(2);
  expect(pagesOf({ total: 0, page: 0, size: 20, rows: [] })).toBe(0);
});
