/** Labels of samples, as the server keeps them beside the recipe. */

import { ask } from "../../server/ask";
import { Failure } from "../../server/failure";

export type Label = "good" | "bad";

class Labels {
  failure: Failure | null = $state.raw(null);
  #known: Record<string, Label> | null = $state.raw(null);
  #isAsked = false;

  of(id: string): Label | null {
    if (!this.#isAsked) void this.load();
    return this.#known?.[id] ?? null;
  }

  async load(): Promise<void> {
    this.#isAsked = true;
    await this.#told(async () => {
      const answer = await ask("labels", {});
      this.#known = Object.fromEntries(answer.labels.map((one) => [one.id, one.label]));
    });
  }

  /** Label a sample, or take its label back; what is shown is what the server has kept. */
  async set(id: string, label: Label | null): Promise<void> {
    await this.#told(async () => {
      await ask("labels", { set: { id, label } });
      const { [id]: _old, ...others } = this.#known ?? {};
      this.#known = label === null ? others : { ...others, [id]: label };
    });
  }

  async #told(work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.failure = null;
    } catch (error) {
      this.failure = error instanceof Failure ? error : new Failure(String(error), "error");
    }
  }
}

export const labels = new Labels();
