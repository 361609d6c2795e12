/** Of a table of thresholds, the cell that is moved: that of a language, or of another key. */

import type { Cut } from "../../server/answers";

/** Its key: what was picked, or the language that the page is about; null if the table has none for it. */
export function cellOf(cut: Cut, picked: string, language: string): string | null {
  const limits = cut.limits ?? {};
  if (picked in limits) return picked;
  if (language && isByLanguage(cut)) return language in limits ? language : null;
  return Object.keys(limits)[0] ?? null;
}

/** By the column that its keys are of; where that is not told, by what they look like. */
export function isByLanguage(cut: Cut): boolean {
  if (cut.key) return /language/.test(cut.key);
  return /language/.test(cut.table ?? "") || Object.keys(cut.limits ?? {}).some((key) => /^[a-z]{3}_[A-Z][a-z]{3}$/.test(key));
}
