/** What is selected on the map: a part of it is in the address, with the rows that it was drawn of, so that a link shows the same. */

import type { Filter, MapPart } from "../server/answers";
import type { Query } from "./address.svelte";

const KEY = "map";

export function mapPartOf(query: Query): MapPart | null {
  try {
    const read: unknown = JSON.parse(query.get(KEY) || "null");
    return isPart(read) ? read : null;
  } catch {
    return null; // an address that was cut off: nothing is selected
  }
}

export function mapPartText(part: MapPart | null): string | null {
  if (part === null) return null;
  const { among, ...rest } = part;
  return JSON.stringify(among && Object.keys(among).length ? part : rest);
}

export function inWords(part: MapPart): string {
  return part.cluster === undefined ? `a part by ${part.layer}` : `cluster ${part.cluster + 1} by ${part.layer}`;
}

/** The points that a part holds, by their numbers; the server compares the same rounded places. */
export function held(part: MapPart, points: { x: readonly number[]; y: readonly number[]; cluster: readonly number[] }): number[] {
  const [left, right, low, high] = part.box ?? [0, 0, 0, 0];
  const isIn = (at: number): boolean => {
    if (part.cluster !== undefined) return points.cluster[at] === part.cluster;
    const [x = NaN, y = NaN] = [points.x[at], points.y[at]];
    return x >= left && x <= right && y >= low && y <= high;
  };
  return [...points.x.keys()].filter(isIn);
}

/** The rows of which a map is drawn: those of the part that is selected on it, else all that are chosen. */
export function drawnOf(query: Query, filter: Filter): Filter {
  const { map: _map, ...rest } = filter;
  const part = mapPartOf(query);
  return part ? (part.among ?? {}) : rest;
}

function isPart(read: unknown): read is MapPart {
  if (typeof read !== "object" || read === null) return false;
  const part = read as Record<string, unknown>;
  const isBox = Array.isArray(part["box"]) && part["box"].length === 4 && part["box"].every((one) => typeof one === "number");
  return typeof part["layer"] === "string" && isBox !== (typeof part["cluster"] === "number");
}
