/** Answers about rules: what they drop, and what others would. */

import type { Progress } from "./answers";
import type { SampleRow } from "./answers_samples";

export interface Cut {
  id: number;
  column: string;
  op: string;
  /** Null where the threshold is a cell of a table, by language or another key. */
  value: number | null;
  by_language: boolean;
  /** The table of thresholds, and the column whose values are its keys. */
  table?: string | null;
  key?: string | null;
  limits?: Record<string, number> | null;
}

export interface Rule {
  reason: string;
  list: string;
  condition: string;
  when_null?: string | null;
  preset?: string | null;
  fires: number;
  first: number;
  cuts: Cut[];
}

export interface Rules {
  rules: Rule[];
  rows: number;
  kept: number;
  bytes?: number;
  kept_bytes?: number;
  bytes_of?: string;
  has_duplicates?: boolean;
  progress?: Progress | null;
}

export interface Moved {
  reason: string;
  list: string;
  cut: number;
  value: number;
  /** Whose cell of a table of thresholds. */
  language?: string;
}

export interface Written {
  reason: string;
  list: string;
  drop: string;
}

export interface Removed {
  reason: string;
  list: string;
  remove: true;
}

export type Change = Moved | Written | Removed;

export interface Histogram {
  edges: number[];
  counts: number[];
  kept?: number[] | null;
  nulls: number;
  ends?: [number, number] | null;
  thresholds: { value: number | null; reason: string; list: string; cut: number; op: string }[];
}

/** Rows, and the amount in the unit that was asked for. */
export interface Amount extends Record<string, number> {
  rows: number;
}

export interface BeforeAfter {
  before: number;
  after: number;
  amount_before: number;
  amount_after: number;
}

export interface Simulated {
  exact: boolean;
  why?: string | null;
  kept: { before: Amount; after: Amount };
  by_language: (BeforeAfter & { code: string })[];
  by_source: (BeforeAfter & { name: string })[];
  dropped_now: number;
  kept_now: number;
  samples: { dropped: SampleRow[]; kept: SampleRow[] };
  progress?: Progress | null;
}

export interface Patch {
  text: string;
  diff: string;
  /** A name beside the recipe that no file has. */
  file: string;
  saved: string | null;
}

/** What charts are chosen by: labels, or the ends of a measure. */
export type Choice = (string | null)[] | [number | null, number | null];

export interface Group {
  label: string | null;
  edge: number | null;
  rows: number;
  /** Null where the rules decide nothing. */
  kept: number | null;
  chosen: boolean;
}

export interface LinkedChart {
  column: string;
  groups: Group[];
  edges: number[] | null;
  ends: [number, number] | null;
}

export interface Linked {
  rows: number;
  kept: number | null;
  undecided?: string | null;
  dimensions: LinkedChart[];
  progress?: Progress | null;
}

export interface HeatCell {
  rows: number;
  share: number;
  first: number;
}

export interface Heatmap {
  languages: { code: string; rows: number; kept: number }[];
  rules: {
    reason: string;
    list: string;
    cells: HeatCell[];
    /** Of all languages, those that have no column too. */
    all?: { fires: number; first: number };
  }[];
  more_languages: number;
  progress?: Progress | null;
}
