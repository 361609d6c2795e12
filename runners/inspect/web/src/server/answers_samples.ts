/** Answers about samples: lists of them, and all of one. */

export interface SampleRow {
  id: string;
  source: string;
  language: string | null;
  reason: string | null;
  kept: boolean | null;
  url: string | null;
  preview: string;
  modality?: string;
  reasons?: string[];
  bytes?: number;
  /** Its number in the store, by which it is found at once. */
  row?: number;
  /** In a grid: how many pictures and videos it has; what the first is, and whether that is blurred. */
  items?: number;
  mime?: string | null;
  blurred?: boolean;
  /** Of samples beside a threshold: what is measured, and where the line is. */
  value?: number | null;
  column?: string;
  op?: string;
  limit?: number | null;
}

export interface Samples {
  /** Null while texts are still searched. */
  total: number | null;
  rows: SampleRow[];
  page: number;
  size: number;
  /** Of a search in texts: the samples found, and how far it came. */
  found?: number;
  rows_read?: number;
  rows_in_all?: number;
  /** Why the rules decide nothing here. */
  undecided?: string | null;
}

/** Places are those of the raw text, in UTF-16 units. */
export interface Span {
  from: number;
  to: number;
  kind: string;
  layer: string;
}

export interface Edit {
  from: number;
  to: number;
  kind: string;
  written: string;
}

export interface MediaItem {
  item: number;
  mime: string | null;
  bytes?: number | null;
  width?: number | null;
  height?: number | null;
  seconds?: number | null;
  blurred?: boolean;
}

export interface RuleOfSample {
  reason: string;
  list: string;
  condition: string;
  fires: boolean;
  values: Record<string, number | string | boolean>;
}

export interface Decided {
  kept: boolean | null;
  reasons: string[];
  first: string | null;
  words: string[];
  rules: RuleOfSample[];
  clusters: { kind: string; id: string; size: number; item?: number }[];
  representative: string | null;
}

export interface Sample {
  id: string;
  source: string;
  language: string | null;
  url: string | null;
  text: { raw: string | null; exported: string | null; cut?: boolean };
  spans: Span[];
  edits: Edit[];
  not_edited: string[];
  layers: Record<string, Record<string, unknown>>;
  decision: Decided;
  why_undecided?: string | null;
  /** Why the text as exported is not known, such as a key that is missing. */
  why_not_exported?: string | null;
  media: MediaItem[];
  /** Items of media beyond those that are listed. */
  more_media?: number;
  captions: { text: string; origin?: string | null; language?: string | null }[];
}
