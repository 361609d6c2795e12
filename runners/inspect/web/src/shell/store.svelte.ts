/** What the store holds, asked once for all pages, and again while it is being counted. */

import { getContext, setContext } from "svelte";
import type { StoreAnswer } from "../server/answers";
import { Asking } from "../server/asking.svelte";

const KEY = Symbol("store");

export function provideStore(): Asking<"store"> {
  return setContext(KEY, new Asking("store", () => ({})));
}

export function useStore(): Asking<"store"> {
  return getContext<Asking<"store">>(KEY);
}

export function languageName(store: StoreAnswer | null, code: string): string {
  const found = store?.languages.find((language) => language.code === code);
  return found?.name && found.name !== code ? found.name : code;
}
