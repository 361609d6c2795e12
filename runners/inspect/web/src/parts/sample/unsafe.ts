/** Whether a picture may be one that nobody wants to meet unasked. */

const NAMED = /nsfw|explicit|sexual|porn/i;
const LIKELY = 0.2;

/** By any layer that measures it: a score that is not low, or a flag; columns of media have a value for each item. */
export function isUnsafe(layers: Record<string, Record<string, unknown> | null>, item: number): boolean {
  for (const [layer, columns] of Object.entries(layers)) {
    for (const [column, values] of Object.entries(columns ?? {})) {
      if (!NAMED.test(`${layer}.${column}`)) continue;
      const value: unknown = Array.isArray(values) ? values[item] : values;
      if (value === true || (typeof value === "number" && value >= LIKELY)) return true;
    }
  }
  return false;
}
