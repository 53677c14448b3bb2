import { describe, expect, it } from "vitest";
import { weightOf } from "./decay.ts";
import { factor, many, percent, signed, significant } from "./numbers.ts";
import { memberId, readMember, withParams } from "./route.ts";
import { ago, daysBetween, duration, plusDays } from "./time.ts";
import { amount, describe as told, hours, hoursUnit, inUnits, ordered, slotName } from "./units.ts";

describe("numbers", () => {
  it("have so many significant digits", () => {
    expect([0, 1, 0.12345, 1234.56, 1234567.8, 0.000012345, 1e20].map((value) => significant(value))).toEqual(["0", "1", "0.1235", "1235", "1\u202f234\u202f568", "0.00001234", "1.000e+20"]);
  });
  it("of things are of one or of many", () => {
    expect([many(0, "queue"), many(1, "queue"), many(12_000, "queue")]).toEqual(["0 queues", "1 queue", "12\u202f000 queues"]);
  });
  it("of factors never read as 1 when they are below it", () => {
    expect(["1", "0.999986947324", "0.5", "0.0123456", "0.00001234567", "0.0000001", "0"].map(factor)).toEqual(["1", "0.9999…", "0.5000", "0.01235", "0.00001235", "1.00e-7", "0"]);
  });
  it("are percentages with a true minus", () => {
    expect([0, 0.0004, 0.1234, -0.05, 12.3].map(percent)).toEqual(["0 %", "< 0.1 %", "12.3 %", "−5.0 %", "1230 %"]);
    expect(signed(-2, String)).toBe("−2");
  });
});

describe("slots", () => {
  it("are shown in the units of their readers", () => {
    expect(amount("mem", String(2 ** 40))).toBe("1024 GiB");
    expect(amount("cpu", "64")).toBe("64 cores");
    expect(slotName("cuda.device")).toBe("CUDA");
    expect(inUnits("the limit of 1073741824 mem is below the quota of 8589934592, which counts", "mem")).toBe("the limit of 1 GiB mem is below the quota of 8 GiB, which counts");
    expect([inUnits("more than the quota of 64 cpu", "cpu"), inUnits("of 1 weight", null)]).toEqual(["more than the quota of 64 cpu", "of 1 weight"]);
    expect([hours("cpu", "7200"), hoursUnit("mem")]).toEqual([2, "GiB-hours"]);
    expect(ordered(["mem", "cpu", "cuda.device"])).toEqual(["cuda.device", "cpu", "mem"]);
    expect(told({ cpu: "4", mem: String(2 ** 30) })).toBe("CPU 4, Memory 1 GiB");
    expect(told({})).toBe("nothing");
  });
});

describe("time", () => {
  it("is told from now", () => {
    const now = Date.parse("2026-01-13T12:00:00Z");
    expect(ago("2026-01-13T11:55:00Z", now)).toBe("5 minutes ago");
    expect([duration(30), duration(600), duration(7200), duration(864000)]).toEqual(["30 s", "10 min", "2.0 h", "10 days"]);
    expect([plusDays("2026-02-27", 2), daysBetween("2026-01-01", "2026-01-31")]).toEqual(["2026-03-01", 30]);
  });
});

describe("decay", () => {
  const options = { decay: "flat", half_life_days: 7, lookback_days: 28 };
  it("halves by whole half-lives, or all the time", () => {
    expect(["2026-01-28", "2026-01-22", "2026-01-21", "2026-01-01", "2025-12-31"].map((day) => weightOf(day, "2026-01-28", options))).toEqual([1, 1, 0.5, 0.125, 0]);
    expect(weightOf("2026-01-21", "2026-01-28", { ...options, decay: "continuous" })).toBe(0.5);
  });
});

describe("addresses", () => {
  it("leave out what is empty", () => {
    expect(withParams("?q=a&page=2", { page: null, active: "1" })).toBe("?q=a&active=1");
    expect(withParams("?q=a", { q: "" })).toBe("");
  });
  it("name a user in a project", () => {
    expect(readMember(memberId({ user: "u", project: "p" }))).toEqual({ user: "u", project: "p" });
    expect(readMember("u")).toBeNull();
  });
});
