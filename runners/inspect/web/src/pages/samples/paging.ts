/** How many pages a list of samples has, as far as it is known. */

import type { Samples } from "../../server/answers";

/** While a search goes on, a page that is full has at least one more after it. */
export function pagesOf(answer: Pick<Samples, "total" | "page" | "size"> & { rows: readonly unknown[] }): number {
  if (answer.total !== null) return Math.ceil(answer.total / answer.size);
  return answer.page + (answer.rows.length < answer.size ? 1 : 2);
}
