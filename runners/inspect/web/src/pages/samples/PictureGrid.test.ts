import { flushSync, mount, unmount } from "svelte";
import { expect, it } from "vitest";
import PictureGrid from "./PictureGrid.svelte";

const row = { id: "aa", source: "photos", language: null, reason: null, kept: true, url: null, preview: "", row: 3, mime: "image/png", items: 2 };

it("veils what may be unsafe until it is asked for, one picture at a time", () => {
  const rows = [{ ...row, blurred: true }, { ...row, id: "bb", blurred: true }, { ...row, id: "cc", blurred: false }];
  const grid = mount(PictureGrid, { target: document.body, props: { rows, chosen: "", none: "none" } });
  flushSync();
  const sources = (): string[] => [...document.querySelectorAll("img")].map((image) => image.getAttribute("src") ?? "");
  expect(sources()).toEqual(["aa", "bb", "cc"].map((id) => `/picture/${id}/0?size=160&row=3`));
  expect([...document.querySelectorAll("img")].every((image) => image.getAttribute("loading") === "lazy")).toBe(true);
  document.querySelector("button")?.click();
  flushSync();
  expect(sources().map((source) => source.includes("unblurred"))).toEqual([true, false, false]);
  expect(document.querySelectorAll("button")).toHaveLength(1);
  expect(document.body.textContent).toContain("1 of 2");
  void unmount(grid);
});
