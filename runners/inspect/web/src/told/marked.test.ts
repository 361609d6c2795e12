import { describe, expect, it } from "vitest";
import { pieces, toneOf } from "./marked";

const span = (from: number, to: number, kind: string): { from: number; to: number; kind: string } => ({ from, to, kind });

describe("a text cut at its spans", () => {
  it("is whole without spans", () => expect(pieces("abc", [])).toEqual([{ text: "abc", kinds: [] }]));
  it("has a piece for each change", () => {
    expect(pieces("mail a@b.c now", [span(5, 10, "email")])).toEqual([
      { text: "mail ", kinds: [] },
      { text: "a@b.c", kinds: ["email"] },
      { text: " now", kinds: [] },
    ]);
  });
  it("shows spans that overlap together", () => {
    expect(pieces("abcd", [span(0, 3, "x"), span(2, 4, "y"), span(0, 2, "x")])).toEqual([
      { text: "ab", kinds: ["x"] },
      { text: "c", kinds: ["x", "y"] },
      { text: "d", kinds: ["y"] },
    ]);
  });
  it("leaves out what lies beyond the text, and nothing of the text", () => {
    const text = "a<b>c";
    expect(pieces(text, [span(-3, 2, "x"), span(4, 99, "y"), span(3, 3, "z"), span(50, 60, "z")]).map((piece) => piece.text).join("")).toBe(text);
  });
});

describe("the tone of a span", () => {
  it("follows what it marks", () => {
    expect([
      toneOf({ kind: "email", layer: "text.pii" }),
      toneOf({ kind: "spans", layer: "text.repeated_substrings" }),
      toneOf({ kind: "matches", layer: "text.contamination" }),
      toneOf({ kind: "removed", layer: "text.c4" }),
    ]).toEqual(["personal", "duplicate", "contamination", "other"]);
  });
});
