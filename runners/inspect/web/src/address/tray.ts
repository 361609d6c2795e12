/** The tray: the changes of rules that are tried now. */

import type { Change } from "../server/answers";
import { address } from "./address.svelte";
import { changesOf, changesText, withChange, withoutChange } from "./changes";

/** Try a change; `replace` leaves no step to go back to, as while a slider is dragged. */
export function tryChange(change: Change, replace = false): void {
  address.set({ changes: changesText(withChange(changesOf(address.query), change)) }, replace);
}

export function takeBack(change: Change): void {
  address.set({ changes: changesText(withoutChange(changesOf(address.query), change)) });
}

export function takeAllBack(): void {
  address.set({ changes: null, tray: null });
}
