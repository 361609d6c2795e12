/** Keys of the page: each with what it does, so that `?` can list them. */

import { onMount } from "svelte";

export interface Key {
  /** As `KeyboardEvent.key`, or two of them, as in `g r`. */
  key: string;
  does: string;
  run: (event: KeyboardEvent) => void;
}

/** After the first key of two the second is waited for so long. */
const SECOND_KEY_MS = 1200;

class Keys {
  all: readonly Key[] = $state.raw([]);
  #first: { key: string; at: number } | null = null;

  add(keys: readonly Key[]): () => void {
    this.all = [...this.all, ...keys];
    return () => {
      this.all = this.all.filter((key) => !keys.includes(key));
    };
  }

  press(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    // A dialog has the keys to itself: Esc closes it, and does nothing to the page behind.
    if (document.querySelector("dialog[open]")) return;
    if (event.key !== "Escape" && isWriting(event.target)) return;
    const both = this.#first && performance.now() - this.#first.at < SECOND_KEY_MS ? `${this.#first.key} ${event.key}` : null;
    this.#first = null;
    // The newest comes first: what is open on top of a page takes its keys.
    const found = this.all.findLast((key) => key.key === both) ?? this.all.findLast((key) => key.key === event.key);
    if (found) {
      event.preventDefault();
      found.run(event);
    } else if (this.all.some((key) => key.key.startsWith(`${event.key} `))) {
      this.#first = { key: event.key, at: performance.now() };
    }
  }
}

export function isWriting(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement) return true;
  return target instanceof HTMLInputElement && !["checkbox", "radio", "button", "range"].includes(target.type);
}

export const keys = new Keys();

/** Keys that hold while a component is shown. */
export function useKeys(added: readonly Key[]): void {
  onMount(() => keys.add(added));
}
