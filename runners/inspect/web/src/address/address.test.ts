import { describe, expect, it } from "vitest";
import { moved, read, write } from "./address.svelte";
import { changesOf, changesText, withChange, withoutChange } from "./changes";
import { choicesOf, filterOf, rangeEdit } from "./filter";

const place = (hash: string): ReturnType<typeof read> => read(hash);

describe("the address", () => {
  it("is read as it was written", () => {
    const hash = "#/samples?language=kor_Hang&text=a%20%26%20b%3D%3F%23";
    expect(place(hash).query.get("text")).toBe("a & b=?#");
    expect(write(place(hash))).toBe(hash);
  });
  it("is the overview without a page", () => expect(place("").page).toBe("overview"));
  it("takes shared choices along to another page, and leaves those of the page", () => {
    const next = moved(place("#/samples?language=kor_Hang&page=3&range.a.b=1..2"), "rules", { rule: "keep:short" });
    expect(write(next)).toBe("#/rules?language=kor_Hang&range.a.b=1..2&rule=keep:short");
  });
  it("keeps all choices within a page", () => {
    expect(write(moved(place("#/samples?page=3&sample=ab"), "samples", { sample: null }))).toBe("#/samples?page=3");
  });
});

describe("the list in the address", () => {
  it("begins anew where other rows are chosen", () => {
    const from = place("#/samples?reason=short&order=edge&cut=1&page=3&sample=ab&language=kor_Hang");
    expect(write(moved(from, "samples", { language: null }))).toBe("#/samples?order=edge&reason=short");
    expect(write(moved(from, "samples", { reason: null }))).toBe("#/samples?language=kor_Hang");
    expect(write(moved(from, "samples", { reason: "long", order: "edge", cut: "2" }))).toBe("#/samples?cut=2&language=kor_Hang&order=edge&reason=long");
  });
  it("stays where the same rows are chosen", () => {
    const from = place("#/samples?reason=short&page=3");
    expect(write(moved(from, "samples", { reason: "short", sample: "ab" }))).toBe("#/samples?page=3&reason=short&sample=ab");
  });
});

describe("the filter in the address", () => {
  it("is what views ask by", () => {
    const { query } = place("#/x?source=web&kept=no&range.text.length.characters=10..&first=short&page=2");
    expect(filterOf(query)).toEqual({ source: "web", first: "short", kept: false, ranges: { "text.length.characters": [10, null] } });
  });
  it("has every day of a range", () => {
    expect(filterOf(place("#/x?day=2024-02-28..2024-03-01").query).day).toEqual(["2024-02-28", "2024-02-29", "2024-03-01"]);
    expect(filterOf(place("#/x?day=2024-02-28").query).day).toEqual(["2024-02-28"]);
    expect(filterOf(place("#/x?day=never..later").query).day).toEqual(["never"]);
    expect(choicesOf(place("#/x?day=2024-02-28..2024-03-01").query)[0]?.value).toBe("2024-02-28 to 2024-03-01");
  });
  it("names what is chosen", () => {
    expect(choicesOf(place("#/x?kept=yes&language=eng_Latn").query).map((choice) => [choice.name, choice.value])).toEqual([
      ["language", "eng_Latn"],
      ["decision", "kept"],
    ]);
  });
  it("writes ranges with an open end", () => expect(rangeEdit("a", [null, 3])).toEqual({ "range.a": "..3" }));
});

describe("changes in the address", () => {
  const moved = { list: "keep", reason: "short", cut: 0, value: 20 };
  it("are read as they were written", () => {
    const changes = [moved, { list: "keep", reason: "new", drop: "a < 1 AND b = 'x&y'" }];
    const hash = write({ page: "rules", query: new Map([["changes", changesText(changes) ?? ""]]) });
    expect(changesOf(place(hash).query)).toEqual(changes);
  });
  it("replace an earlier one of the same threshold", () => {
    expect(withChange([moved], { ...moved, value: 30 })).toEqual([{ ...moved, value: 30 }]);
    expect(withChange([moved], { ...moved, language: "kor_Hang" })).toHaveLength(2);
    expect(withoutChange([moved], { ...moved, value: 99 })).toEqual([]);
  });
  it("are none where the address was cut off or made up", () => {
    for (const text of ["[{", "7", '{"a":1}', '[{"reason":1}]', '[{"reason":"a","list":"keep"}]'])
      expect(changesOf(new Map([["changes", text]]))).toEqual([]);
  });
});
