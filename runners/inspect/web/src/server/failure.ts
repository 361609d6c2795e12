/** Why a question has no answer, in the server's one line. */

export type Kind = "unavailable" | "asked" | "error" | "cancelled" | "stopped" | "reading" | "unreachable";

/** Lines quote what was crawled, and a crawl may plant a command: only winnow's own are offered, and one at a time. */
const COMMAND = /^(?:winnow|pip install '?winnow)(?![\w-])[^`;|&$<>\\\n]*$/;

export class Failure extends Error {
  constructor(
    readonly why: string,
    readonly kind: Kind,
    readonly given: string | null = null,
  ) {
    super(why);
  }

  /** The command that gives what is missing, to be copied; null if there is none. */
  get command(): string | null {
    if (this.given !== null) return this.given;
    return this.kind === "unavailable" ? commandIn(this.why) : null;
  }
}

/** The command that a line ends in or has between backticks. */
export function commandIn(line: string): string | null {
  const found = /(?:^|[:;] )(?:run:? )?((?:winnow|pip install) \S.*)$/.exec(line)?.[1] ?? /`([^`]+)`/.exec(line)?.[1];
  return found && COMMAND.test(found) ? found : null;
}
