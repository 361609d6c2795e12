/** The page's whole state is its address: `#/rules?rule=top_2_gram&language=kor_Hang`; back and forward move in it. */

export type Query = ReadonlyMap<string, string>;
export type Edits = Readonly<Record<string, string | null>>;

/** What is chosen on one page and holds on the others. */
const SHARED = new Set(["source", "language", "reason", "first", "kept", "domain", "day", "text", "map", "changes", "unit"]);
const RANGE = "range.";

export function isShared(key: string): boolean {
  return SHARED.has(key) || key.startsWith(RANGE);
}

/** Whether a choice says which rows are meant. */
function isOfRows(key: string): boolean {
  return isShared(key) && key !== "changes" && key !== "unit";
}

export interface Place {
  page: string;
  query: Query;
}

export function read(hash: string): Place {
  const [path = "", query = ""] = splitOnce(hash.replace(/^#\/?/, ""), "?");
  return { page: path || "overview", query: new Map(new URLSearchParams(query)) };
}

export function write({ page, query }: Place): string {
  const keys = [...query.keys()].sort();
  const parts = keys.map((key) => `${encodeURIComponent(key)}=${readable(query.get(key) ?? "")}`);
  return `#/${page}${parts.length ? `?${parts.join("&")}` : ""}`;
}

/**
 * Where a link from `place` leads: the shared choices go along, those of one page only within it. Where other rows are
 * chosen, the page of the list, its sample and its threshold are none of the new list.
 */
export function moved(place: Place, page: string, edits: Edits): Place {
  const stays = page === place.page;
  const query = new Map([...place.query].filter(([key]) => stays || isShared(key)));
  const other = Object.entries(edits).filter(([key, value]) => isOfRows(key) && (value ?? "") !== (place.query.get(key) ?? ""));
  if (other.length) for (const key of ["page", "sample", "cut"]) query.delete(key);
  if (other.some(([key]) => key === "reason") && query.get("order") === "edge") query.delete("order");
  for (const [key, value] of Object.entries(edits)) {
    if (value === null || value === "") query.delete(key);
    else query.set(key, value);
  }
  return { page, query };
}

function splitOnce(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

/** Escaped as far as an address needs it, so that people can read and edit it. */
function readable(value: string): string {
  return encodeURIComponent(value).replace(/%(?:3A|2C|2F|7B|7D|5B|5D)/g, decodeURIComponent);
}

class Address {
  #place: Place = $state.raw(read(location.hash));

  constructor() {
    addEventListener("hashchange", () => this.#show(read(location.hash)));
  }

  get page(): string {
    return this.#place.page;
  }

  get query(): Query {
    return this.#place.query;
  }

  get(key: string): string {
    return this.#place.query.get(key) ?? "";
  }

  /** The address of a page with these choices, for a link. */
  href(page: string, edits: Edits = {}): string {
    return write(moved(this.#place, page, edits));
  }

  /** Go there; `replace` leaves no step to go back to, as while a slider is dragged. */
  go(page: string, edits: Edits = {}, replace = false): void {
    const place = moved(this.#place, page, edits);
    const hash = write(place);
    if (hash === write(this.#place)) return;
    if (replace) history.replaceState(null, "", hash);
    else history.pushState(null, "", hash);
    this.#show(place);
  }

  /** Change choices of the page that is shown. */
  set(edits: Edits, replace = false): void {
    this.go(this.page, edits, replace);
  }

  #show(place: Place): void {
    const isOther = place.page !== this.#place.page;
    this.#place = place;
    if (isOther) scrollTo(0, 0);
  }
}

export const address = new Address();
