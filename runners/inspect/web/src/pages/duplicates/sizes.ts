/** The bars of a histogram of cluster sizes. */

export interface Bin {
  size: string;
  clusters: number;
  /** Of 100. */
  tall: number;
}

/** What is in no cluster of several rows. */
const ALONE = "1";

/** Bars by the logarithm of their counts: there are a thousand times more pairs than clusters of a hundred rows. */
export function heights(sizes: Readonly<Record<string, number>>): Bin[] {
  const bins = Object.entries(sizes).filter(([size]) => size !== ALONE);
  const most = Math.max(1, ...bins.map(([, clusters]) => Math.log1p(clusters)));
  return bins.map(([size, clusters]) => ({ size, clusters, tall: (100 * Math.log1p(clusters)) / most }));
}
