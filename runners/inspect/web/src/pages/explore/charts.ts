/** Which charts are shown, and what is chosen in them, as the address says it. */

import { daysOf, rangesOf } from "../../address/filter";
import type { Query } from "../../address/address.svelte";
import type { Choice, Column } from "../../server/answers";

export const GROUPS = ["language", "source", "reason", "domain", "day"] as const;

/** Measures that most stores have, the most telling first. */
const TELLING = ["text.length.characters", "text.language.score", "samples.width", "score.mimic.rank"];

export function measuresOf(query: Query, columns: readonly Column[]): string[] {
  const asked = query.get("charts");
  if (asked !== undefined) return asked.split(",").filter(Boolean);
  const names = new Set(columns.map((column) => column.name));
  return TELLING.filter((name) => names.has(name)).slice(0, 3);
}

/** Choices by chart; a site is none of them, as its chart has only the most frequent. The first reason is a chart of its own, other rules that fire are not. */
export function choicesOf(query: Query, days: readonly string[]): Record<string, Choice> {
  const choices: Record<string, Choice> = { ...rangesOf(query) };
  for (const key of ["source", "language"]) {
    const value = query.get(key);
    if (value) choices[key] = [value];
  }
  const first = query.get("first");
  if (first) choices["reason"] = [first];
  const kept = query.get("kept");
  if (kept) choices["kept"] = [kept === "yes" ? "kept" : "dropped"];
  const [from, to] = daysOf(query);
  const within = days.filter((day) => from !== "" && day >= from && day <= to);
  if (within.length) choices["day"] = within;
  return choices;
}
