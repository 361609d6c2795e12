/** Of each group of a chart the rows that are kept; null where the rules decide nothing. */

import type { Group } from "../../server/answers";

export function keptOf(groups: readonly Group[]): number[] | null {
  const kept = groups.flatMap((group) => (group.kept === null ? [] : [group.kept]));
  return kept.length === groups.length ? kept : null;
}
