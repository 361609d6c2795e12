/** Bytes as people read them: sixteen a line, with their place and the letters that they may be. */

const WIDE = 16;

export interface HexLine {
  offset: string;
  bytes: string;
  letters: string;
}

export function hexLines(hex: string, start = 0): HexLine[] {
  const values = hex.match(/[0-9a-f]{2}/gi) ?? [];
  const lines: HexLine[] = [];
  for (let at = 0; at < values.length; at += WIDE) {
    const part = values.slice(at, at + WIDE);
    lines.push({
      offset: (start + at).toString(16).padStart(8, "0"),
      bytes: part.join(" ").padEnd(3 * WIDE - 1),
      letters: part.map((value) => letter(Number.parseInt(value, 16))).join(""),
    });
  }
  return lines;
}

function letter(code: number): string {
  return code >= 0x20 && code < 0x7f ? String.fromCharCode(code) : "·";
}
