/** Of a table of thresholds, the cell that is moved: that of a language, or of another key. */

import type { Cut } from "../../server/answers";

/** Its key: what was picked, or the language that the page is about; null if the table has none for it. */
export function cellOf(cut: Cut, picked: string, language: string): string | null {
  const limits = cut.limits ?? {};
  if (picked in limits) return picked;
  if (language && isByLanguage(cut)) return language in limits ? language : null;
  return Object.keys(limits)[0] ?? null;
}

export function isByLanguage(cut: Cut): boolean {
  return /language/.test(cut.key ?? cut.table ?? "");
}
