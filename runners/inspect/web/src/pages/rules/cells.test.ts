import { expect, it } from "vitest";
import type { Cut } from "../../server/answers";
import { cellOf } from "./cells";

const cut: Cut = { id: 0, column: "a", op: "<", value: null, by_language: true, key: "text.language.code", limits: { deu_Latn: 1, eng_Latn: 2 } };

it("is the cell of the language that the page is about, or of the one that was picked", () => {
  expect(cellOf(cut, "", "eng_Latn")).toBe("eng_Latn");
  expect(cellOf(cut, "deu_Latn", "eng_Latn")).toBe("deu_Latn");
  expect(cellOf(cut, "", "")).toBe("deu_Latn");
});

it("is never another language's", () => expect(cellOf(cut, "", "kor_Hang")).toBeNull());

it("is the first of a table that is not by language", () => {
  expect(cellOf({ ...cut, key: "samples.domain", limits: { "a.org": 1 } }, "", "kor_Hang")).toBe("a.org");
});

it("knows a table of languages by its keys where its column is not told", () => {
  const { key: _key, ...untold } = cut;
  expect(cellOf({ ...untold, table: "thresholds.multilingual.a" }, "", "kor_Hang")).toBeNull();
  expect(cellOf({ ...untold, table: "thresholds.sites.a", limits: { "a.org": 1 } }, "", "kor_Hang")).toBe("a.org");
});
