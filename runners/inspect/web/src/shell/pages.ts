/** The pages, in the order of the menu; each is loaded when it is first opened. */

import type { Component } from "svelte";

export interface Page {
  name: string;
  title: string;
  key: string;
  load: () => Promise<{ default: Component }>;
}

export const PAGES: readonly Page[] = [
  { name: "overview", title: "Overview", key: "o", load: () => import("../pages/overview/Overview.svelte") },
  { name: "rules", title: "Rules", key: "r", load: () => import("../pages/rules/Rules.svelte") },
  { name: "heatmap", title: "Heatmap", key: "h", load: () => import("../pages/heatmap/Heatmap.svelte") },
  { name: "explore", title: "Explore", key: "e", load: () => import("../pages/explore/Explore.svelte") },
  { name: "samples", title: "Samples", key: "s", load: () => import("../pages/samples/Samples.svelte") },
  { name: "domains", title: "Domains", key: "d", load: () => import("../pages/domains/Domains.svelte") },
  { name: "duplicates", title: "Duplicates", key: "u", load: () => import("../pages/duplicates/Duplicates.svelte") },
  { name: "quarantine", title: "Quarantine", key: "q", load: () => import("../pages/quarantine/Quarantine.svelte") },
  { name: "fetched", title: "Fetched", key: "t", load: () => import("../pages/fetched/Fetched.svelte") },
  { name: "shards", title: "Shards", key: "a", load: () => import("../pages/shards/Shards.svelte") },
  { name: "diff", title: "Diff", key: "f", load: () => import("../pages/diff/Diff.svelte") },
  { name: "map", title: "Map", key: "m", load: () => import("../pages/map/Map.svelte") },
  { name: "sql", title: "SQL", key: "l", load: () => import("../pages/sql/Sql.svelte") },
  { name: "labels", title: "Labels", key: "b", load: () => import("../pages/labels/Labels.svelte") },
];
