/** Answers about sites, duplicates, shards, and what else a store has. */

import type { Progress } from "./answers";

export interface Reason {
  reason: string;
  rows: number;
}

export interface Site {
  /** Null for rows of files without addresses. */
  domain: string | null;
  rows: number;
  kept: number | null;
  bytes: number;
  within: number;
  across: number;
  reasons: Reason[];
}

export interface Domains {
  whole: { sites: number; rows: number; kept: number | null; bytes: number };
  kinds: string[];
  kind: string | null;
  page: number;
  pages: number;
  rows: Site[];
  undecided: string | null;
  progress?: Progress | null;
}

export interface ClusterRow {
  cluster: string;
  rows: number;
  texts: number | null;
  sources: Record<string, number>;
  languages: Record<string, number>;
  lowest_similarity: number | null;
  names: string[];
  kept: string | null;
  undecided: string | null;
  text: string | null;
  examples?: { id: string; text: string | null; row?: string; item?: number | null }[];
}

export interface Clusters {
  kinds: string[];
  kind: string;
  of_items: boolean;
  summary: { means: string; of: string; rows: number; clusters: number; rows_in_clusters: number; surplus: number; share: number; stale: boolean | null };
  sizes: Record<string, number>;
  /** The size whose clusters alone are listed; empty for all. */
  size: string;
  alarms: { message: string }[];
  remarks: string[];
  page: number;
  pages: number;
  total: number;
  rows: ClusterRow[];
}

/** A run of words: in both texts, only in the one that stays (`left`) and in this one (`right`), or left out. */
export type DifferencePiece = { same: string } | { left: string; right: string } | { folded: number };

export interface Member {
  id: string;
  source: string;
  language: string | null;
  url: string | null;
  characters?: number | null;
  similarity?: number | null;
  by?: string | null;
  /** Whether it is kept, whatever rule drops it, and the first that does; null where the rules decide nothing. */
  kept?: boolean | null;
  first?: string | null;
  /** The reason of duplicates for which it is dropped; null if it stays for its cluster. */
  goes: string | null;
  duplicate_of?: string | null;
  equal?: boolean | null;
  coarse?: boolean;
  pieces?: DifferencePiece[] | null;
  /** Of clusters of media: the sample and its item. */
  row?: string;
  item?: number | null;
}

export interface Cluster {
  kind: string;
  id: string;
  of_items: boolean;
  rows: number | null;
  found: number;
  forgotten: number;
  kept: string | null;
  undecided: string | null;
  why: string[];
  members: Member[];
}

export interface QuarantineRow {
  file: string;
  source: string;
  offset: number | null;
  length: number | null;
  unit: string | null;
  reason: string;
  detail: string | null;
  hex: string;
}

export interface Quarantine {
  reasons: Reason[];
  rows: QuarantineRow[];
  page: number;
  pages: number;
}

export interface FetchedSource {
  source: string;
  addresses: number;
  ended: { decision: string; reason: string; addresses: number; size: number }[];
  sites: { site: string; addresses: number; fetched: number; refused: number; failed: number; bytes: number }[];
}

export interface Fetched {
  sources: FetchedSource[];
}

export interface Shard {
  shard: string;
  source: string;
  rows: number;
  bytes: number;
  dropped: number | null;
  outlier: string | null;
}

export interface Shards {
  rows: Shard[];
  page: number;
  pages: number;
  outliers: number;
  undecided?: string | null;
}

export interface Moves {
  reason: string;
  language: string;
  rows: number;
}

/** A sample that changes sides, with the reason on each; `kept` where none drops it. */
export interface ChangedSample {
  id: string;
  source: string;
  language: string;
  old: string;
  new: string;
  preview: string | null;
}

export interface Diff {
  /** Rows of each source that only one side has: they are not compared. */
  only_old?: Record<string, number> | null;
  only_new?: Record<string, number> | null;
  /** What there is to compare with; given where nothing is asked for. */
  choices?: { generations: number[]; recipes: string[]; stores: string[] };
  old: string;
  new: string;
  total: { samples: number; old: number; new: number; lost: number; gained: number };
  cells: { source: string; language: string; lost: number; gained: number }[];
  dropped_by: Moves[];
  kept_again: Moves[];
  lost: ChangedSample[];
  gained: ChangedSample[];
}

export interface Stratum {
  stratum: string;
  available: number;
  asked: number | null;
  given: number | null;
  share: number | null;
  epochs: number | null;
}

export interface Mixture {
  unit: string;
  outputs: { output: string; available: number | null; asked: number | null; given: number | null; epochs: number | null; samples: number | null }[];
  /** What the rules keep and no output may take. */
  left_out?: { reason: string; samples: number; share: number | null }[];
  by_output: { name: string; strata: Stratum[] }[];
  notes: string[];
}

export interface FamilyShare {
  family: string;
  share_asked: number | null;
  share_given: number | null;
  epochs: number | null;
}

export interface Families {
  families: { family: string; documents: number; kept: number | null }[];
  unit: string | null;
  outputs: { name: string; families: FamilyShare[] }[];
  /** Why no mixture can be compared. */
  missing: string | null;
}

export interface MapPoints {
  layer: string;
  layers: string[];
  sampled: number;
  of: number;
  without_vector: number;
  /** Lists of the same length. */
  points: { x: number[]; y: number[]; cluster: number[]; id: string[]; item: number[]; row: number[] };
  clusters: { cluster: number; words: string; points: number; x: number; y: number }[];
}
