/** Numbers as people read them; the same everywhere on the page. */

const WHOLE = new Intl.NumberFormat("en");
const SHORT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const DIGITS = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

export function count(value: number): string {
  return WHOLE.format(value);
}

/** For axes and tight places: 1.2M. */
export function short(value: number): string {
  return Math.abs(value) < 10_000 ? WHOLE.format(Math.round(value)) : SHORT.format(value);
}

/** A part of a whole, such as `12.3 %`; a little is never shown as nothing, nor almost all as all. */
export function share(part: number, whole: number): string {
  if (whole === 0) return "–";
  const percent = (100 * part) / whole;
  if (part > 0 && percent < 0.05) return "< 0.1 %";
  if (part < whole && percent > 99.95) return "> 99.9 %";
  return `${percent.toFixed(1)} %`;
}

export function bytes(value: number): string {
  let at = 0;
  let scaled = value;
  while (Math.abs(scaled) >= 1024 && at < UNITS.length - 1) {
    scaled /= 1024;
    at += 1;
  }
  const digits = at === 0 || Math.abs(scaled) >= 100 ? 0 : 1;
  return `${scaled.toFixed(digits)} ${UNITS[at] ?? ""}`;
}

/** The difference, with its sign: `+12`, `−3`; `0` where there is none. */
export function change(before: number, after: number, told: (value: number) => string = count): string {
  const difference = after - before;
  if (difference === 0) return "0";
  return `${difference > 0 ? "+" : "−"}${told(Math.abs(difference))}`;
}

/** A measured value with as many digits as matter. */
export function measured(value: number): string {
  if (Number.isInteger(value)) return Math.abs(value) < 1e15 ? WHOLE.format(value) : value.toExponential(3);
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) return value.toPrecision(3);
  return DIGITS.format(value);
}

export function seconds(value: number): string {
  if (value < 60) return `${value.toFixed(value < 10 ? 1 : 0)} s`;
  if (value < 3600) return `${(value / 60).toFixed(1)} min`;
  return `${(value / 3600).toFixed(1)} h`;
}

/** The same with the unit's name, where the value does not say it. */
export function withUnit(value: number, unit: string): string {
  return unit === "bytes" || unit === "seconds" ? inUnit(value, unit) : `${count(value)} ${unit}`;
}

/** A value of a unit that the server names. */
export function inUnit(value: number, unit: string): string {
  if (unit === "bytes") return bytes(value);
  if (unit === "seconds") return seconds(value);
  return count(value);
}
