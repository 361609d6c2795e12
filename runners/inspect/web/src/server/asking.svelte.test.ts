import { flushSync } from "svelte";
import { afterEach, expect, it, vi } from "vitest";
import { Asking, isPartial } from "./asking.svelte";

afterEach(() => vi.unstubAllGlobals());

function replies(...texts: string[]): void {
  vi.stubGlobal("fetch", () => Promise.resolve(new Response(texts.shift() ?? "")));
}

async function asked(work: (asking: Asking<"funnel">) => Promise<void>): Promise<void> {
  let asking: Asking<"funnel"> | null = null;
  const end = $effect.root(() => {
    asking = new Asking("funnel", () => ({}));
  });
  flushSync();
  try {
    await work(asking as unknown as Asking<"funnel">);
  } finally {
    end();
  }
}

it("tells what the server has given up, and asks again", async () => {
  replies('{"ok":false,"kind":"cancelled","why":"stopped after 20 s"}', '{"ok":true,"answer":{"units":[],"steps":[]}}');
  await asked(async (asking) => {
    await vi.waitFor(() => expect(asking.failure?.why).toBe("stopped after 20 s"));
    expect(asking.answer).toBeNull();
    asking.again();
    await vi.waitFor(() => expect(asking.answer).not.toBeNull());
    expect(asking.failure).toBeNull();
  });
});

it("asks by itself for what is still being read", async () => {
  replies('{"ok":false,"kind":"reading","why":"3 of 9 shards"}', '{"ok":true,"answer":{"units":[],"steps":[]}}');
  await asked(async (asking) => {
    await vi.waitFor(() => expect(asking.failure?.why).toBe("3 of 9 shards"));
    await vi.waitFor(() => expect(asking.answer).not.toBeNull(), 3000);
    expect(asking.failure).toBeNull();
  });
});

it("says nothing of a turn that its own newer question has ended", async () => {
  replies('{"ok":false,"kind":"cancelled","why":"newer"}', '{"ok":true,"answer":{"units":["rows"],"steps":[]}}');
  await asked(async (asking) => {
    asking.again();
    await vi.waitFor(() => expect(asking.answer?.units).toEqual(["rows"]));
    expect(asking.failure).toBeNull();
  });
});

it("asks on while rows are counted, and while a search has not filled its page", () => {
  expect(isPartial({ progress: { frame: { done: 1, of: 2 } } })).toBe(true);
  expect(isPartial({ progress: { frame: { done: 2, of: 2 } } })).toBe(false);
  expect(isPartial({ progress: { frame: { done: 1, of: 2, failed: "shard 3 is broken" } } })).toBe(false);
  expect(isPartial({ total: null, rows: [{}], size: 20 })).toBe(true);
  expect(isPartial({ total: null, rows: [{}, {}], size: 2 })).toBe(false);
  expect(isPartial({ total: 1, rows: [{}], size: 20 })).toBe(false);
  expect(isPartial({ progress: null })).toBe(false);
});
