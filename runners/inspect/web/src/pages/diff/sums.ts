/** The rows that change sides, added up by language or by reason. */

import type { Diff, Moves } from "../../server/answers";

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
