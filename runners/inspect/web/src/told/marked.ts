/** A text cut into pieces at the ends of its spans, so that it is shown as text alone, whatever is in it. */

export interface Marked {
  from: number;
  to: number;
  kind: string;
}

export interface Piece {
  text: string;
  /** The kinds of all spans over it, without repetition. */
  kinds: string[];
}

export function pieces(text: string, spans: readonly Marked[]): Piece[] {
  const inside = spans
    .map((span) => ({ ...span, from: Math.max(0, span.from), to: Math.min(text.length, span.to) }))
    .filter((span) => span.from < span.to);
  const ends = [...new Set([0, text.length, ...inside.flatMap((span) => [span.from, span.to])])].sort((a, b) => a - b);
  const found: Piece[] = [];
  let open = inside.toSorted((one, other) => one.from - other.from);
  for (let at = 0; at + 1 < ends.length; at += 1) {
    const [from = 0, to = 0] = [ends[at], ends[at + 1]];
    open = open.filter((span) => span.to > from);
    const over = open.filter((span) => span.from <= from);
    found.push({ text: text.slice(from, to), kinds: [...new Set(over.map((span) => span.kind))] });
  }
  return found;
}

export type Tone = "personal" | "duplicate" | "contamination" | "other";

/** Which of the few colours a span has; its kind is written beside it. */
export function toneOf(span: { kind: string; layer?: string }): Tone {
  const name = `${span.layer ?? ""} ${span.kind}`.toLowerCase();
  if (/contaminat|evaluation|ngram/.test(name)) return "contamination";
  if (/repeat|duplicat|substring|boilerplate/.test(name)) return "duplicate";
  if (/pii|personal|email|phone|\bip\b|iban|card|secret|national|crypto|credential/.test(name)) return "personal";
  return "other";
}
