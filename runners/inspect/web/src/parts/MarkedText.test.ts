import { flushSync, mount, unmount } from "svelte";
import { expect, it } from "vitest";
import MarkedText from "./MarkedText.svelte";

it("shows markup of a crawl as text", () => {
  const text = '<img src=x onerror="alert(1)"> & <script>alert(2)</script>';
  const shown = mount(MarkedText, { target: document.body, props: { text, label: "Text", spans: [{ from: 5, to: 12, kind: "email", layer: "text.pii" }] } });
  flushSync();
  expect(document.querySelector("img, script")).toBeNull();
  expect(document.querySelector("[role=region]")?.textContent?.trim()).toBe(text);
  expect(document.querySelector("mark")?.className).toContain("personal");
  void unmount(shown);
});
