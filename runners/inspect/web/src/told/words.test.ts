import { expect, it } from "vitest";
import { completions, quoted, wordAt } from "./words";

const WORDS = ["text.length.characters", "text.language.code", "length", "samples.url"];

it("takes the word that ends at the caret", () => {
  expect(wordAt("text.length.characters < 10 AND text.la", 39)).toEqual({ start: 32, word: "text.la" });
  expect(wordAt("a + ", 4)).toEqual({ start: 4, word: "" });
});

it("offers what begins with the word, then what has it inside", () => {
  expect(completions(WORDS, "len")).toEqual(["length", "text.length.characters"]);
});

it("offers nothing for a word that is whole", () => expect(completions(WORDS, "samples.url")).toEqual([]));

it("quotes names with dots for SQL, and completes them with or without a quote begun", () => {
  const words = WORDS.map(quoted);
  expect(quoted("length")).toBe("length");
  expect(completions(words, "samples")).toEqual(['"samples.url"']);
  expect(completions(words, '"samples')).toEqual(['"samples.url"']);
  expect(wordAt('SELECT "samples.u', 17)).toEqual({ start: 7, word: '"samples.u' });
});
