/** Where the points of a map are on a canvas, and which of them lie at a place or within a box. */

export interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

export interface Frame {
  /** From data to pixels: x * scale + dx; one scale, so that distances keep their meaning. */
  scale: number;
  dx: number;
  dy: number;
}

const MARGIN = 12;

export function frameOf(x: readonly number[], y: readonly number[], wide: number, tall: number): Frame {
  const [left, right] = ends(x);
  const [low, high] = ends(y);
  const scale = Math.min((wide - 2 * MARGIN) / (right - left || 1), (tall - 2 * MARGIN) / (high - low || 1));
  return { scale, dx: wide / 2 - (scale * (left + right)) / 2, dy: tall / 2 - (scale * (low + high)) / 2 };
}

export function boxOf(one: readonly [number, number], other: readonly [number, number]): Box {
  return {
    left: Math.min(one[0], other[0]),
    right: Math.max(one[0], other[0]),
    top: Math.min(one[1], other[1]),
    bottom: Math.max(one[1], other[1]),
  };
}

/** The numbers of the points in a box of pixels. */
export function within(x: readonly number[], y: readonly number[], frame: Frame, box: Box): number[] {
  const found: number[] = [];
  for (let at = 0; at < x.length; at += 1) {
    const px = (x[at] ?? 0) * frame.scale + frame.dx;
    const py = (y[at] ?? 0) * frame.scale + frame.dy;
    if (px >= box.left && px <= box.right && py >= box.top && py <= box.bottom) found.push(at);
  }
  return found;
}

/** The number of the point nearest to a pixel, if it is within reach; else null. */
export function nearest(x: readonly number[], y: readonly number[], frame: Frame, at: readonly [number, number], reach = 8): number | null {
  let best: number | null = null;
  let least = reach * reach;
  for (let one = 0; one < x.length; one += 1) {
    const dx = (x[one] ?? 0) * frame.scale + frame.dx - at[0];
    const dy = (y[one] ?? 0) * frame.scale + frame.dy - at[1];
    const distance = dx * dx + dy * dy;
    if (distance <= least) {
      least = distance;
      best = one;
    }
  }
  return best;
}

interface Name {
  words: string;
  x: number;
  y: number;
}

const NAME_TALL = 14;
const MOST_LETTERS = 28;

export function shortened(words: string): string {
  const letters = [...words];
  return letters.length > MOST_LETTERS ? `${letters.slice(0, MOST_LETTERS - 1).join("")}…` : words;
}

/** The names, of which earlier ones come first, that lie over none before them. */
export function apart(names: readonly Name[], wideOf: (words: string) => number): Name[] {
  const there: (Name & { half: number })[] = [];
  for (const name of names) {
    const half = wideOf(name.words) / 2 + 4;
    const isFree = there.every((one) => Math.abs(one.x - name.x) >= one.half + half || Math.abs(one.y - name.y) >= NAME_TALL);
    if (name.words && isFree) there.push({ ...name, half });
  }
  return there;
}

function ends(values: readonly number[]): [number, number] {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? [low, high] : [0, 1];
}
