/** Values of a query's result as the page shows them. */

export function shownCell(value: unknown): string {
  if (value === null || value === undefined) return "null";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Whether a value is the id of a sample, which can be opened. */
export function isSampleId(column: string, value: unknown): boolean {
  return /(^|\.)id$/.test(column) && typeof value === "string" && /^[0-9a-f]{32}$/.test(value);
}
