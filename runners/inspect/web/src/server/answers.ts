/** What the server's views answer, by the view's name. */

import type { Cluster, Clusters, Diff, Domains, Families, Fetched, MapPoints, Mixture, Quarantine, Shards } from "./answers_data";
import type { Heatmap, Histogram, Linked, Patch, Rules, Simulated } from "./answers_rules";
import type { Sample, Samples } from "./answers_samples";

export type * from "./answers_data";
export type * from "./answers_rules";
export type * from "./answers_samples";

export type Range = [number | null, number | null];

export interface Filter {
  source?: string;
  language?: string;
  reason?: string;
  first?: string;
  kept?: boolean;
  /** A site; null for rows of files that have no addresses. */
  domain?: string | [null];
  day?: readonly string[];
  text?: string;
  ranges?: Record<string, Range>;
  map?: MapPart;
}

/** A part of a map, and the rows that the map was drawn of. */
export interface MapPart {
  layer: string;
  /** The least and the greatest x, the least and the greatest y. */
  box?: readonly [number, number, number, number];
  cluster?: number;
  among?: Filter;
}

export interface Progress {
  done: number;
  of: number;
  /** Why it will never be done. */
  failed?: string | null;
}

export interface Column {
  name: string;
  type: string;
  numeric: boolean;
}

export interface Language {
  code: string;
  name?: string;
  rows: number;
  kept: number | null;
}

export interface StoreAnswer {
  name: string;
  recipe: string | null;
  generation: number;
  /** The newest one, which may have been written since this store was opened. */
  latest?: number;
  rows: number;
  bytes: number;
  sources: { name: string; rows: number }[];
  languages: Language[];
  layers: { name: string; rows: number }[];
  columns: Column[];
  reasons: string[];
  state: string;
  progress?: { frame: Progress } | Progress | null;
  missing: { what: string; command: string }[];
}

export interface Funnel {
  units: string[];
  steps: { name: string; detail: string; values: Record<string, number | null>; lost: { reason: string; rows: number; values?: Record<string, number> }[] }[];
  /** Why the rules decide nothing here. */
  undecided: string | null;
}

export interface Words {
  columns: Column[] | string[];
  functions: string[];
  reasons: string[];
  tables: string[];
}

export interface SqlTable {
  columns: { name: string; type: string }[];
  rows: unknown[][];
  page: number;
  page_rows: number;
  total: number;
  truncated: boolean;
}

export interface Labels {
  labels: { id: string; label: "good" | "bad" }[];
  file: string;
  exported: string | null;
}

export interface Answers {
  store: StoreAnswer;
  funnel: Funnel;
  rules: Rules;
  histogram: Histogram;
  simulate: Simulated;
  patch: Patch;
  samples: Samples;
  sample: Sample;
  linked: Linked;
  heatmap: Heatmap;
  domains: Domains;
  clusters: Clusters;
  cluster: Cluster;
  quarantine: Quarantine;
  fetched: Fetched;
  shards: Shards;
  diff: Diff;
  mixture: Mixture;
  families: Families;
  labels: Labels;
  sql: SqlTable;
  map: MapPoints;
  words: Words;
  units: { units: string[] };
}

export type View = keyof Answers;
