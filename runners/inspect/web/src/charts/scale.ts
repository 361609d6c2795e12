/** Where a value stands among the bins of a histogram: every bin is as wide as the others, whatever it covers. */

/** From 0 to 1; values beyond the edges stand at the ends. */
export function positionOf(edges: readonly number[], value: number): number {
  const bins = edges.length - 1;
  const first = edges[0];
  const last = edges[bins];
  if (bins < 1 || first === undefined || last === undefined || value <= first) return 0;
  if (value >= last) return 1;
  let bin = 0;
  while (bin + 1 < bins && (edges[bin + 1] ?? Infinity) <= value) bin += 1;
  const low = edges[bin] ?? first;
  const high = edges[bin + 1] ?? last;
  return (bin + (high > low ? (value - low) / (high - low) : 0)) / bins;
}

export function valueAt(edges: readonly number[], position: number): number {
  const bins = edges.length - 1;
  if (bins < 1) return edges[0] ?? 0;
  const at = Math.min(Math.max(position, 0), 1) * bins;
  const bin = Math.min(Math.floor(at), bins - 1);
  const low = edges[bin] ?? 0;
  const high = edges[bin + 1] ?? low;
  return low + (at - bin) * (high - low);
}

/** A step of 1, 2 or 5 times a power of ten, about 200 of which lie between these values. */
export function niceStep(low: number, high: number, isWhole: boolean): number {
  const rough = Math.max(Math.abs(high - low) / 200, Number.MIN_VALUE);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough * 0.999) ?? rough;
  return isWhole ? Math.max(1, Math.round(step)) : step;
}

/** The step's nearest multiple, without the noise of binary fractions. */
export function rounded(value: number, step: number): number {
  const digits = Math.max(0, -Math.floor(Math.log10(step)));
  return Number((Math.round(value / step) * step).toFixed(Math.min(digits + 1, 15)));
}
