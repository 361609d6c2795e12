import { expect, it } from "vitest";
import { byLanguage, byReason, leftOut } from "./sums";

it("adds up what changes sides by language, without languages where nothing does", () => {
  const cell = { source: "web", lost: 2, gained: 0 };
  expect(
    byLanguage([
      { ...cell, language: "eng_Latn" },
      { ...cell, source: "books", language: "eng_Latn", gained: 1 },
      { ...cell, language: "kor_Hang", lost: 0 },
    ]),
  ).toEqual([{ name: "eng_Latn", dropped: 4, kept: 1 }]);
});

it("has a line for each reason on either side, the largest first", () => {
  expect(
    byReason([{ reason: "short", language: "a", rows: 1 }], [{ reason: "long", language: "a", rows: 3 }, { reason: "short", language: "b", rows: 1 }]),
  ).toEqual([
    { name: "long", dropped: 0, kept: 3 },
    { name: "short", dropped: 1, kept: 1 },
  ]);
});

it("tells what only one side has", () => {
  expect(leftOut({ old: "a.yaml", new: "b.yaml", only_old: { web: 1200 }, only_new: null })).toEqual(["Only a.yaml has 1,200 rows of web: left out."]);
});
