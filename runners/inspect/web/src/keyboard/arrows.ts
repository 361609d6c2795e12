/** An attachment for lists and tables: arrow keys, Home and End move the focus among what can be chosen. */

import type { Attachment } from "svelte/attachments";

const CHOOSABLE = "[data-choosable]";

export function arrows(): Attachment<HTMLElement> {
  return (list) => {
    const move = (event: KeyboardEvent): void => {
      const found = [...list.querySelectorAll<HTMLElement>(CHOOSABLE)];
      const at = found.findIndex((one) => one === document.activeElement);
      if (at < 0) return;
      const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: found.length - 1 }[event.key];
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
