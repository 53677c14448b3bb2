import { describe, expect, it } from "vitest";
import { amountFault, countedAmount, rangeFault, typedAmount, weightFault, wholeFault } from "./quantity.ts";

describe("numbers as they are typed", () => {
  it("are refused with a reason where they are none, and an empty text is none", () => {
    for (const text of ["", " ", "0", "2", "0.5", ".5", "2.", " 3 "]) expect(amountFault(text), text).toBeUndefined();
    for (const text of ["-5", "−5", "- 0.5"]) expect(amountFault(text), text).toContain("below 0");
    for (const text of ["abc", "1e3", "1,5", "5 GiB", "NaN", "Infinity", "0x10", "--5", "."]) expect(amountFault(text), text).toContain("is not a number");
  });

  it("are whole and in their range where they have to be", () => {
    for (const text of ["", "-3", "0", "10"]) expect(wholeFault(text, -3, 10), text).toBeUndefined();
    for (const text of ["-4", "11", "1.5", "x", "1e1"]) expect(wholeFault(text, -3, 10), text).toBe("Write a whole number from -3 to 10.");
  });

  it("are weights above 0 where they have to be", () => {
    expect(weightFault("0.5")).toBeUndefined();
    expect(weightFault("")).toBeUndefined();
    for (const text of ["0", "-1", "1.23456", "many", "1e3", "12345678"]) expect(weightFault(text), text).toBeTruthy();
    expect([weightFault("0"), weightFault("1000000"), weightFault("999999.9999"), weightFault("1.23456")]).toEqual(["A weight is at least 0.0001.", "A weight is at most 999999.9999.", undefined, "A weight is a number with at most 4 decimals, such as 0.5 or 20."]);
  });

  it("are in the range that the server has for them, to the last digit", () => {
    const range = { minimum: "0.5", maximum: "1000000", decimals: 12 };
    for (const text of ["", "0.5", "1000000", "1000000.000", "2.000000000001"]) expect(rangeFault(text, range), text).toBeUndefined();
    for (const text of ["0.499999999999", "1000000.000000000001", "2.0000000000001"]) expect(rangeFault(text, range), text).toBe("Write a number from 0.5 to 1000000, with at most 12 decimals.");
    expect([rangeFault("-1", range), rangeFault("x", range)]).toEqual(["This is below 0. Write 0 or more.", "“x” is not a number. Write one such as 2 or 0.5."]);
    expect(rangeFault("11", { minimum: "-3", maximum: "10", decimals: 0 })).toBe("Write a whole number from -3 to 10.");
  });

  it("reach the server and come back to the last digit", () => {
    expect(countedAmount("mem", "0.1")).toBe("107374182.4");
    expect(countedAmount("mem", "64")).toBe("68719476736");
    expect(countedAmount("cuda.device", "0.3")).toBe("0.3");
    expect(countedAmount("mem", "9007199254740993")).toBe(String(9007199254740993n * 2n ** 30n));
    expect(countedAmount("mem", "many")).toBe("many");
    for (const bytes of ["1", "64000000000", "549755813888", "297784399189.333333333333"]) expect(countedAmount("mem", typedAmount("mem", bytes)), bytes).toBe(bytes);
    expect(typedAmount("mem", "unlimited")).toBe("unlimited");
    expect(typedAmount("cpu", "1.50")).toBe("1.50");
  });
});
