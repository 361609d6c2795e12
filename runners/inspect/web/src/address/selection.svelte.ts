/** The rows that are selected on the map; thousands of them, so they are in no address and last as long as the page. */

class Selection {
  /** Their numbers, as views know rows; none: nothing is selected. */
  rows: readonly number[] = $state.raw([]);

  clear(): void {
    this.rows = [];
  }
}

export const selection = new Selection();
