/** Light or dark: as the system says, unless a person has switched. */

export type Theme = "system" | "light" | "dark";
const KEY = "winnow.theme";
const ORDER: readonly Theme[] = ["system", "light", "dark"];

class Themes {
  chosen: Theme = $state(read());

  constructor() {
    show(this.chosen);
  }

  next(): void {
    this.chosen = ORDER[(ORDER.indexOf(this.chosen) + 1) % ORDER.length] ?? "system";
    keep(this.chosen);
    show(this.chosen);
  }
}

function read(): Theme {
  try {
    const kept = localStorage.getItem(KEY);
    return kept === "light" || kept === "dark" ? kept : "system";
  } catch {
    return "system"; // a browser that keeps nothing for a page
  }
}

function keep(theme: Theme): void {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // It holds as long as the page.
  }
}

function show(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
}

export const themes = new Themes();
