/** An attachment for lists, tables and grids: arrow keys, Home and End move the focus among what can be chosen. */

import type { Attachment } from "svelte/attachments";

const CHOOSABLE = "[data-choosable]";

/** `isGrid`: what can be chosen stands in lines of several, beside each other. */
export function arrows(isGrid = false): Attachment<HTMLElement> {
  return (list) => {
    const move = (event: KeyboardEvent): void => {
      const found = [...list.querySelectorAll<HTMLElement>(CHOOSABLE)];
      const at = found.findIndex((one) => one === document.activeElement);
      if (at < 0) return;
      const line = isGrid ? inFirstLine(found.map((one) => one.getBoundingClientRect().top)) : 1;
      const beside: Record<string, number> = isGrid ? { ArrowRight: at + 1, ArrowLeft: at - 1 } : {};
      const steps: Record<string, number> = { ArrowDown: at + line, ArrowUp: at - line, Home: 0, End: found.length - 1, ...beside };
      const next = steps[event.key];
      const target = next === undefined ? undefined : found[next];
      if (!target) return;
      event.preventDefault();
      target.focus();
      target.scrollIntoView({ block: "nearest" });
    };
    list.addEventListener("keydown", move);
    return () => list.removeEventListener("keydown", move);
  };
}

/** How many stand in the first line of a grid, as wide as its window is. */
export function inFirstLine(tops: readonly number[]): number {
  const next = tops.findIndex((top) => top !== tops[0]);
  return next < 0 ? Math.max(1, tops.length) : next;
}
