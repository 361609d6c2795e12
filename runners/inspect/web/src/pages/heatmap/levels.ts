/** How strong the colour of a cell is: shares are uneven, so steps double. */

const STEPS = [0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.4, 0.7];

/** 0 for nothing, to 8 for nearly all. */
export function levelOf(share: number): number {
  return share <= 0 ? 0 : STEPS.filter((step) => share > step).length;
}

/** Where an arrow key leads in a grid; null for other keys and beyond its edge. */
export function stepIn(key: string, at: readonly [number, number], rows: number, columns: number): [number, number] | null {
  const steps: Record<string, [number, number]> = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  if (key === "Home") return [at[0], 0];
  if (key === "End") return [at[0], columns - 1];
  const step = steps[key];
  if (!step) return null;
  const next: [number, number] = [at[0] + step[0], at[1] + step[1]];
  return next[0] < 0 || next[0] >= rows || next[1] < 0 || next[1] >= columns ? null : next;
}
