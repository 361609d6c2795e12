/** The changes of rules that a person tries; they are in the address, so that a link shows the same trial. */

import type { Change } from "../server/answers";
import type { Query } from "./address.svelte";

export function changesOf(query: Query): Change[] {
  const text = query.get("changes");
  if (!text) return [];
  try {
    const read: unknown = JSON.parse(text);
    return Array.isArray(read) ? read.filter(isChange) : [];
  } catch {
    return []; // an address that was cut off: the page is shown without changes
  }
}

export function changesText(changes: readonly Change[]): string | null {
  return changes.length ? JSON.stringify(changes) : null;
}

/** These changes with one more; it takes the place of an earlier one of the same threshold or rule. */
export function withChange(changes: readonly Change[], change: Change): Change[] {
  const at = changes.findIndex((other) => placeOf(other) === placeOf(change));
  return at < 0 ? [...changes, change] : changes.with(at, change);
}

export function withoutChange(changes: readonly Change[], change: Change): Change[] {
  return changes.filter((other) => placeOf(other) !== placeOf(change));
}

/** The value to which a threshold is moved; null if it is not. */
export function movedTo(changes: readonly Change[], rule: { list: string; reason: string }, cut: number, language: string): number | null {
  const wanted = placeOf({ ...rule, cut, value: 0, ...(language ? { language } : {}) });
  const found = changes.find((change) => placeOf(change) === wanted);
  return found && "cut" in found ? found.value : null;
}

export function touches(changes: readonly Change[], rule: { list: string; reason: string }): boolean {
  return changes.some((change) => change.reason === rule.reason && change.list === rule.list);
}

export function inWords(change: Change): string {
  if ("remove" in change) return "removed";
  if ("drop" in change) return `drop ${change.drop}`;
  return `${change.language ? `${change.language} ` : ""}→ ${change.value}`;
}

/** What a change is about: two of the same place cannot both hold. */
export function placeOf(change: Change): string {
  const what = "cut" in change ? `${change.cut}:${change.language ?? ""}` : "drop" in change ? "drop" : "remove";
  return `${change.list}:${change.reason}:${what}`;
}

function isChange(read: unknown): read is Change {
  if (typeof read !== "object" || read === null) return false;
  const change = read as Record<string, unknown>;
  if (typeof change["reason"] !== "string" || typeof change["list"] !== "string") return false;
  const isMoved = typeof change["cut"] === "number" && typeof change["value"] === "number";
  return isMoved || change["remove"] === true || typeof change["drop"] === "string";
}
