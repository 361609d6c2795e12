/** The changes whose exact result is there: the tray computes it, and what else the page says of them asks for it too. */

import type { Change } from "../../server/answers";
import type { Question } from "../../server/ask";

class Settling {
  #settled: string = $state("");

  done(changes: readonly Change[]): void {
    this.#settled = JSON.stringify(changes);
  }

  /** What to add to a question about these changes. */
  of(changes: readonly Change[]): Question {
    return this.#settled === JSON.stringify(changes) ? { settle: true } : {};
  }
}

export const settling = new Settling();
