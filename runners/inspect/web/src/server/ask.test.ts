import { afterEach, expect, it, vi } from "vitest";
import { ask } from "./ask";

const asked: { url: string; body: Record<string, unknown> }[] = [];

function answer(text: string): void {
  vi.stubGlobal("fetch", (url: string, init: RequestInit) => {
    asked.push({ url, body: JSON.parse(String(init.body)) as Record<string, unknown> });
    return Promise.resolve(new Response(text));
  });
}

afterEach(() => {
  vi.unstubAllGlobals();
  asked.length = 0;
});

it("asks a view by its name, with later turns in a lane", async () => {
  answer('{"ok": true, "answer": {"units": ["rows"], "steps": []}}');
  expect((await ask("funnel", { a: 1 }, { lane: "x" })).units).toEqual(["rows"]);
  await ask("funnel", {}, { lane: "x" });
  expect(asked[0]).toMatchObject({ url: "/api/funnel", body: { a: 1, lane: "x" } });
  expect(Number(asked[1]?.body["turn"])).toBeGreaterThan(Number(asked[0]?.body["turn"]));
});

it("fails with the server's line", async () => {
  answer('{"ok": false, "kind": "unavailable", "why": "no mixture; run: winnow mix demo.yaml"}');
  await expect(ask("mixture", {})).rejects.toMatchObject({ kind: "unavailable", command: "winnow mix demo.yaml" });
});

it("fails with the line of a guard, which is not JSON", async () => {
  answer("open the whole address that winnow inspect printed\n");
  await expect(ask("store", {})).rejects.toMatchObject({ why: "open the whole address that winnow inspect printed", kind: "error" });
});

it("says so when the server is gone", async () => {
  vi.stubGlobal("fetch", () => Promise.reject(new TypeError("Failed to fetch")));
  await expect(ask("store", {})).rejects.toMatchObject({ kind: "unreachable" });
});

it("has lanes of its own tab", async () => {
  answer('{"ok": true, "answer": {}}');
  await ask("funnel", {}, { lane: "x" });
  await ask("funnel", {});
  expect(asked[0]?.body["tab"]).toMatch(/^[0-9a-f-]{36}$/);
  expect(asked[1]?.body).toEqual({});
});
