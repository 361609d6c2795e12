import { expect, it } from "vitest";
import { commandIn } from "./failure";

it("finds the command that a line ends in", () => {
  expect(commandIn("there is no mixture yet; run: winnow mix demo.yaml")).toBe("winnow mix demo.yaml");
  expect(commandIn("pictures need Pillow; run: pip install 'winnow[pictures]'")).toBe("pip install 'winnow[pictures]'");
});

it("finds a command between backticks", () => expect(commandIn("is `winnow inspect` still running?")).toBe("winnow inspect"));

it("finds none in other lines", () => expect(commandIn("no rule has the reason 'x'")).toBeNull());
