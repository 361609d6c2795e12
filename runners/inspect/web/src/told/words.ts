/** Words that a condition or a query may have, for completion. */

import type { Words } from "../server/answers";

export function wordList(words: Words | null): string[] {
  if (words === null) return [];
  const columns = words.columns.map((column) => (typeof column === "string" ? column : column.name));
  return [...new Set([...columns, ...words.functions])];
}

/** A name as SQL reads it: one with a dot in it is quoted, or it would be a column of a table. */
export function quoted(name: string): string {
  return /^\w+$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
}

function bare(word: string): string {
  return word.replace(/^"|"$/g, "").toLowerCase();
}

/** The word that ends at the caret, which is being written. */
export function wordAt(text: string, caret: number): { start: number; word: string } {
  const word = /"?[A-Za-z_][\w.]*$/.exec(text.slice(0, caret))?.[0] ?? "";
  return { start: caret - word.length, word };
}

/** What it may become: names that begin with it first, then those that have it inside. */
export function completions(words: readonly string[], word: string, most = 8): string[] {
  if (!word) return [];
  const wanted = bare(word);
  const begin = words.filter((one) => bare(one).startsWith(wanted));
  const inside = words.filter((one) => !bare(one).startsWith(wanted) && bare(one).includes(wanted));
  const found = [...begin, ...inside].slice(0, most);
  return found.length === 1 && found[0] === word ? [] : found;
}
