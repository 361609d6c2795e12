/** A question that follows the page's state: asked again when it changes, the newest answer shown. */

import { ask, type Question } from "./ask";
import type { Answers, Progress, View } from "./answers";
import { Failure } from "./failure";

/** While an answer is on its way a newer question waits for it this long, so that a dragged slider shows steps. */
const PATIENCE_MS = 400;
/** What is filled in the background is asked for again after so long. */
const AGAIN_MS = 700;

export class Asking<V extends View> {
  /** The newest answer; it stays while a newer one is on its way. */
  answer: Answers[V] | null = $state.raw(null);
  failure: Failure | null = $state.raw(null);
  waiting = $state(false);

  #view: V;
  #lane: string;
  #asked = "";
  #next: Question | null = null;
  #running: { abort: AbortController; since: number } | null = null;
  #again: ReturnType<typeof setTimeout> | undefined;
  #late: ReturnType<typeof setTimeout> | undefined;

  /** Ask `view` what `question` gives, as often as what it reads changes; null asks nothing. */
  constructor(view: V, question: () => Question | null, lane: string = view) {
    this.#view = view;
    this.#lane = lane;
    $effect(() => {
      const wanted = question();
      const text = wanted === null ? "" : JSON.stringify(wanted);
      if (text === this.#asked) return;
      this.#asked = text;
      if (wanted === null) this.#clear();
      else this.#want(wanted);
    });
    $effect(() => () => this.#stop());
  }

  /** Ask the same question again. */
  again(): void {
    if (this.#asked) this.#want(JSON.parse(this.#asked) as Question);
  }

  #clear(): void {
    this.#stop();
    this.answer = null;
    this.failure = null;
  }

  #stop(): void {
    clearTimeout(this.#again);
    clearTimeout(this.#late);
    this.#running?.abort.abort();
    this.#running = null;
    this.#next = null;
    this.waiting = false;
  }

  #want(question: Question): void {
    clearTimeout(this.#again);
    if (this.#running === null) {
      void this.#send(question);
      return;
    }
    this.#next = question;
    const left = PATIENCE_MS - (performance.now() - this.#running.since);
    clearTimeout(this.#late);
    this.#late = setTimeout(() => this.#skip(), Math.max(0, left));
  }

  /** Give up the answer that is on its way for the question that waits. */
  #skip(): void {
    if (this.#next === null) return;
    const question = this.#next;
    this.#next = null;
    this.#running?.abort.abort();
    void this.#send(question);
  }

  async #send(question: Question): Promise<void> {
    const run = { abort: new AbortController(), since: performance.now() };
    this.#running = run;
    this.waiting = true;
    try {
      const answer = await ask(this.#view, question, { lane: this.#lane, signal: run.abort.signal });
      if (this.#running !== run) return;
      this.answer = answer;
      this.failure = null;
      if (isPartial(answer)) this.#again = setTimeout(() => this.again(), AGAIN_MS);
    } catch (error) {
      if (this.#running !== run) return;
      const failure = error instanceof Failure ? error : new Failure(String(error), "error");
      // Work that is given up for the question that waits is nothing to tell; all else ends with a line, never with an
      // older answer as if it were this one.
      if (this.#next === null) {
        this.failure = failure;
        this.answer = null;
        if (failure.kind === "reading") this.#again = setTimeout(() => this.again(), AGAIN_MS);
      }
    }
    this.#running = null;
    this.waiting = false;
    const next = this.#next;
    this.#next = null;
    if (next !== null) void this.#send(next);
  }
}

/** Whether a later answer to the same question will have more: rows are being counted, or texts searched. */
export function isPartial(answer: unknown): boolean {
  if (typeof answer !== "object" || answer === null) return false;
  const given = answer as { total?: number | null; rows?: unknown[]; size?: number; progress?: Progress | { frame: Progress } | null };
  // A search reads on only for a page that is not full.
  if (given.total === null) return (given.rows?.length ?? 0) < (given.size ?? 0);
  const progress = given.progress && "frame" in given.progress ? given.progress.frame : given.progress;
  return progress ? progress.done < progress.of && !progress.failed : false;
}
