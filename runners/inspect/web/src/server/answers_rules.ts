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
  kept?: number[];
  nulls: number;
  thresholds: { value: number; reason?: string; op?: string }[];
  below?: number;
  above?: number;
}

export interface Amount {
  rows: number;
  bytes: number;
}

export interface BeforeAfter {
  before: number;
  after: number;
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
  recipe: string;
  diff: string;
  file: string;
  saved?: string | null;
}

export interface Linked {
  rows: number;
  kept: number;
  dimensions: Record<string, LinkedDimension>;
  progress?: Progress | null;
}

export interface LinkedDimension {
  kind: "codes" | "bins";
  labels?: string[];
  edges?: number[];
  rows: number[];
  kept: number[];
}

export interface Heatmap {
  rules: string[];
  languages: { code: string; name?: string; rows: number }[];
  /** By rule and language: how many rows the rule drops there. */
  dropped: number[][];
  progress?: Progress | null;
}
