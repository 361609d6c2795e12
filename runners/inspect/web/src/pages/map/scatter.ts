/** Where the points of a map are on a canvas, which of them lies at a place, and what a box covers. */

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
/** Of a place, as the server rounds it. */
const DIGITS = 4;

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

/** A box of pixels in the places of data: the least and the greatest x, the least and the greatest y. */
export function placesOf(frame: Frame, box: Box): [number, number, number, number] {
  const place = (pixel: number, from: number): number => Number(((pixel - from) / frame.scale).toFixed(DIGITS));
  return [place(box.left, frame.dx), place(box.right, frame.dx), place(box.top, frame.dy), place(box.bottom, frame.dy)];
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

/** The names, of which earlier ones come first, that lie over none before them; all are moved to lie within the width. */
export function apart(names: readonly Name[], wideOf: (words: string) => number, wide: number): Name[] {
  const there: (Name & { half: number })[] = [];
  for (const name of names) {
    const half = wideOf(name.words) / 2 + 4;
    const x = Math.max(half, Math.min(wide - half, name.x));
    const isFree = there.every((one) => Math.abs(one.x - x) >= one.half + half || Math.abs(one.y - name.y) >= NAME_TALL);
    if (name.words && isFree) there.push({ ...name, x, half });
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
