/** The rows that change sides, added up by language or by reason. */

import type { Diff, Moves } from "../../server/answers";
import { count } from "../../told/numbers";

export interface Sides {
  name: string;
  dropped: number;
  kept: number;
}

export function byLanguage(cells: Diff["cells"]): Sides[] {
  return added(
    cells.map((cell) => ({ name: cell.language, rows: cell.lost })),
    cells.map((cell) => ({ name: cell.language, rows: cell.gained })),
  );
}

export function byReason(dropped: readonly Moves[], kept: readonly Moves[]): Sides[] {
  const named = (moves: readonly Moves[]): { name: string; rows: number }[] => moves.map((move) => ({ name: move.reason, rows: move.rows }));
  return added(named(dropped), named(kept));
}

type Counted = readonly { name: string; rows: number }[];

function added(dropped: Counted, kept: Counted): Sides[] {
  const sums = new Map<string, Sides>();
  const of = (name: string): Sides => {
    const found = sums.get(name) ?? { name, dropped: 0, kept: 0 };
    sums.set(name, found);
    return found;
  };
  for (const one of dropped) of(one.name).dropped += one.rows;
  for (const one of kept) of(one.name).kept += one.rows;
  return [...sums.values()].filter((one) => one.dropped || one.kept).sort((one, other) => other.dropped + other.kept - one.dropped - one.kept);
}

/** What only one side has, which is not compared, in sentences. */
export function leftOut(diff: Pick<Diff, "old" | "new" | "only_old" | "only_new">): string[] {
  const sides: [string, Record<string, number>][] = [
    [diff.old, diff.only_old ?? {}],
    [diff.new, diff.only_new ?? {}],
  ];
  return sides.flatMap(([side, only]) =>
    Object.entries(only).map(([source, rows]) => `Only ${side} has ${count(rows)} ${rows === 1 ? "row" : "rows"} of ${source}: left out.`),
  );
}
