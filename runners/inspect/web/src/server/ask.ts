/** Questions to the server: one POST a view, its answer typed by the view's name. */

import type { Answers, View } from "./answers";
import { Failure, type Kind } from "./failure";

export type Question = Readonly<Record<string, unknown>>;

interface Reply {
  ok: boolean;
  answer?: unknown;
  why?: string;
  kind?: Kind;
}

/** Within a lane the server drops what it still computes for an older turn. */
let lastTurn = Date.now();

export interface AskOptions {
  lane?: string;
  signal?: AbortSignal;
}

export async function ask<V extends View>(view: V, question: Question, options: AskOptions = {}): Promise<Answers[V]> {
  const lane = options.lane ? { lane: options.lane, turn: ++lastTurn } : {};
  const init: RequestInit = {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ ...question, ...lane }),
    credentials: "same-origin",
    ...(options.signal ? { signal: options.signal } : {}),
  };
  let reply: Reply;
  try {
    const response = await fetch(`/api/${view}`, init);
    reply = (await response.json()) as Reply;
  } catch (error) {
    if (options.signal?.aborted) throw new Failure("a newer question was asked", "cancelled");
    throw new Failure(unreached(error), "unreachable");
  }
  if (!reply.ok) throw new Failure(reply.why ?? "the server gave no reason", reply.kind ?? "error");
  return reply.answer as Answers[V];
}

function unreached(error: unknown): string {
  return error instanceof SyntaxError
    ? "the server's answer is not JSON; open the page again by the address that `winnow inspect` printed"
    : "the server does not answer; is `winnow inspect` still running in its terminal?";
}
