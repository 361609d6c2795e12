/** Questions to the server: one POST a view, its answer typed by the view's name. */

import type { Answers, View } from "./answers";
import { Failure, type Kind } from "./failure";

export type Question = Readonly<Record<string, unknown>>;

interface Reply {
  ok: boolean;
  answer?: unknown;
  why?: string;
  kind?: Kind;
  command?: string | null;
}

/** Within a lane the server drops what it still computes for an older turn. */
let lastTurn = Date.now();
/** Tabs of a browser have lanes of their own. */
const TAB = crypto.randomUUID();

export interface AskOptions {
  lane?: string;
  signal?: AbortSignal;
}

export async function ask<V extends View>(view: V, question: Question, options: AskOptions = {}): Promise<Answers[V]> {
  const lane = options.lane ? { lane: options.lane, turn: ++lastTurn, tab: TAB } : {};
  const init: RequestInit = {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ ...question, ...lane }),
    credentials: "same-origin",
    ...(options.signal ? { signal: options.signal } : {}),
  };
  let text: string;
  try {
    const response = await fetch(`/api/${view}`, init);
    text = await response.text();
  } catch {
    if (options.signal?.aborted) throw new Failure("a newer question was asked", "cancelled");
    throw new Failure("the server does not answer; is `winnow inspect` still running in its terminal?", "unreachable");
  }
  const reply = parsed(text);
  if (!reply.ok) throw new Failure(reply.why ?? "the server gave no reason", reply.kind ?? "error", reply.command ?? null);
  return reply.answer as Answers[V];
}

/** A guard of the server refuses with a line that is not JSON, such as for a page without its cookie. */
function parsed(text: string): Reply {
  try {
    return JSON.parse(text) as Reply;
  } catch {
    return { ok: false, why: text.trim().slice(0, 300) || "the server gave no reason", kind: "error" };
  }
}
