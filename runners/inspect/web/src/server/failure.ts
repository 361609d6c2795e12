/** Why a question has no answer, in the server's one line. */

export type Kind = "unavailable" | "asked" | "error" | "cancelled" | "unreachable";

export class Failure extends Error {
  constructor(
    readonly why: string,
    readonly kind: Kind,
  ) {
    super(why);
  }

  /** The command that the line ends in or has between backticks, to be copied; null if it names none. */
  get command(): string | null {
    return commandIn(this.why);
  }
}

export function commandIn(line: string): string | null {
  const quoted = /`([^`]+)`/.exec(line)?.[1];
  if (quoted) return quoted;
  const after = /(?:^|[:;] )(?:run:? )?((?:winnow|pip install) \S.*)$/.exec(line)?.[1];
  return after ?? null;
}
