/** The rows that a page is about, as the address says it. */

import type { Filter, Range } from "../server/answers";
import type { Edits, Query } from "./address.svelte";
import { inWords, mapPartOf } from "./map_part";

const TEXTS = ["source", "language", "reason", "first", "domain", "text"] as const;
const RANGE = "range.";
/** Rows of files that have no addresses, as a site. */
export const NO_ADDRESS = "(no address)";

/** A site as views know it, from its name on the page. */
export function domainOf(site: string): string | [null] {
  return site === NO_ADDRESS ? [null] : site;
}

export type Choice = { key: string; name: string; value: string };

export function filterOf(query: Query): Filter {
  const filter: Filter = {};
  for (const key of TEXTS) {
    const value = query.get(key);
    if (value) filter[key] = value;
  }
  if (filter.domain) filter.domain = domainOf(query.get("domain") ?? "");
  const kept = query.get("kept");
  if (kept) filter.kept = kept === "yes";
  const part = mapPartOf(query);
  if (part) filter.map = part;
  const days = daysIn(...daysOf(query));
  if (days.length) filter.day = days;
  const ranges = rangesOf(query);
  if (Object.keys(ranges).length) filter.ranges = ranges;
  return filter;
}

/** The first and the last day that are chosen; empty for none. */
export function daysOf(query: Query): [string, string] {
  const [from = "", to = ""] = (query.get("day") ?? "").split("..");
  return [from, to || from];
}

const DAY_MS = 86_400_000;
/** More than any store has: an address that is made up ends somewhere. */
const MOST_DAYS = 50_000;

/** Every day between two, as views name them; what is no day is asked for as it is, and no row has it. */
function daysIn(from: string, to: string): string[] {
  if (!from) return [];
  const [first, last] = [Date.parse(`${from}T00:00Z`), Date.parse(`${to}T00:00Z`)];
  if (!(last >= first)) return [from];
  const days = Math.min((last - first) / DAY_MS + 1, MOST_DAYS);
  return Array.from({ length: Math.floor(days) }, (_, at) => new Date(first + at * DAY_MS).toISOString().slice(0, 10));
}

export function rangesOf(query: Query): Record<string, Range> {
  const ranges: Record<string, Range> = {};
  for (const [key, value] of query) {
    if (!key.startsWith(RANGE)) continue;
    const [low = "", high = ""] = value.split("..");
    ranges[key.slice(RANGE.length)] = [low === "" ? null : Number(low), high === "" ? null : Number(high)];
  }
  return ranges;
}

export function rangeEdit(column: string, range: Range | null): Edits {
  return { [RANGE + column]: range === null ? null : `${range[0] ?? ""}..${range[1] ?? ""}` };
}

/** What is chosen, to be shown and taken back one by one. */
export function choicesOf(query: Query): Choice[] {
  const choices: Choice[] = [];
  for (const key of TEXTS) {
    const value = query.get(key);
    if (value) choices.push({ key, name: key === "first" ? "first reason" : key, value });
  }
  const kept = query.get("kept");
  if (kept) choices.push({ key: "kept", name: "decision", value: kept === "yes" ? "kept" : "dropped" });
  const day = query.get("day");
  if (day) choices.push({ key: "day", name: "day", value: day.replace("..", " to ") });
  const part = mapPartOf(query);
  if (part) choices.push({ key: "map", name: "map", value: inWords(part) });
  for (const [key, value] of query) {
    if (key.startsWith(RANGE)) choices.push({ key, name: key.slice(RANGE.length), value: value.replace("..", " to ") });
  }
  return choices;
}

export function withoutChoices(query: Query): Edits {
  return Object.fromEntries(choicesOf(query).map((choice) => [choice.key, null]));
}
