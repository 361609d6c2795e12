import { describe, expect, it } from "vitest";
import { bytes, change, count, inUnit, measured, share, short, withUnit } from "./numbers";

describe("numbers as people read them", () => {
  it("groups digits", () => expect(count(1234567)).toBe("1,234,567"));
  it("shortens large ones", () => expect([short(9999), short(1_250_000)]).toEqual(["9,999", "1.3M"]));
  it("never shows a little as nothing, nor almost all as all", () => {
    expect([share(1, 100_000), share(99_999, 100_000), share(0, 10), share(10, 10)]).toEqual(["< 0.1 %", "> 99.9 %", "0.0 %", "100.0 %"]);
  });
  it("says that a part of nothing is unknown", () => expect(share(0, 0)).toBe("–"));
  it("has bytes in binary units", () => expect([bytes(512), bytes(1536), bytes(757184)]).toEqual(["512 B", "1.5 KiB", "739 KiB"]));
  it("writes amounts in the unit that they are in", () => {
    expect(["bytes", "seconds", "pixels"].map((unit) => inUnit(7200, unit))).toEqual(["7.0 KiB", "2.0 h", "7,200"]);
    expect(["bytes", "seconds", "tokens"].map((unit) => withUnit(7200, unit))).toEqual(["7.0 KiB", "2.0 h", "7,200 tokens"]);
  });
  it("gives a difference its sign", () => expect([change(5, 17), change(17, 5), change(3, 3)]).toEqual(["+12", "−12", "0"]));
  it("shows the digits that matter", () => expect([measured(0.123456), measured(3954), measured(1.5e-9)]).toEqual(["0.1235", "3,954", "1.50e-9"]));
});
