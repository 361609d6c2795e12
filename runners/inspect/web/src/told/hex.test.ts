import { expect, it } from "vitest";
import { hexLines } from "./hex";

it("shows bytes sixteen a line, with their place and letters", () => {
  expect(hexLines("3c7363726970743e00ff41424344454647", 32)).toEqual([
    { offset: "00000020", bytes: "3c 73 63 72 69 70 74 3e 00 ff 41 42 43 44 45 46", letters: "<script>··ABCDEF" },
    { offset: "00000030", bytes: "47".padEnd(47), letters: "G" },
  ]);
});

it("has no lines without bytes", () => expect(hexLines("")).toEqual([]));
