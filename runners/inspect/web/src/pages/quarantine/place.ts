/** Where in a file a record lies that could not be read, and how long it is; a file that is compressed as a whole has places in its content. */

import type { QuarantineRow } from "../../server/answers";
import { count } from "../../told/numbers";

export function placeInWords({ source, unit, offset, length }: Pick<QuarantineRow, "source" | "unit" | "offset" | "length">): string {
  const before = unit === "rows" ? "row " : unit === "stream" ? "decompressed byte " : "byte ";
  const parts = [source];
  if (offset !== null) parts.push(`at ${before}${count(offset)}`);
  if (length !== null) parts.push(`${count(length)} ${unit === "rows" ? "row" : "byte"}${length === 1 ? "" : "s"}`);
  return parts.join(" · ");
}
