import { describe, expect, it } from "vitest";
import { weightOf } from "./decay.ts";
import { factor, many, percent, points, signed, significant } from "./numbers.ts";
import { memberId, readMember, withParams } from "./route.ts";
import { ago, daysBetween, duration, plusDays } from "./time.ts";
import { amount, amountOf, describe as described, hours, hoursOf, hoursUnit, ordered, slotLabel, slotName } from "./units.ts";

describe("numbers", () => {
  it("have a number of significant digits", () => {
    expect([0, 1, 0.12345, 1234.56, 1234567.8, 0.000012345, 1e20].map((value) => significant(value))).toEqual(["0", "1", "0.1235", "1235", "1\u202f234\u202f568", "0.00001234", "1.000e+20"]);
  });
  it("of things are of one or of many", () => {
    expect([many(0, "queue"), many(1, "queue"), many(12_000, "queue")]).toEqual(["0 queues", "1 queue", "12\u202f000 queues"]);
  });
  it("of factors never read as 1 when they are below it", () => {
    expect(["1", "0.5", "0.0123456", "0.00001234567", "0.0000001", "0"].map(factor)).toEqual(["1", "0.5000", "0.01235", "0.00001235", "1.00e-7", "0"]);
    expect(["0.999999999999", "0.9999999999996", "0.99995"].map(factor)).toEqual(["0.999999999999", "0.999999999999", "0.9999500"]);
  });
  it("of factors near 1 have digits enough for neighbours to differ", () => {
    expect(["0.999978007629", "0.999968317141", "0.999960596143", "0.999494189705", "0.999491090337", "0.9912345"].map(factor)).toEqual(["0.9999780", "0.9999683", "0.9999606", "0.999494", "0.999491", "0.99123"]);
    expect(points(-0.0213)).toBe("−2.1 pp");
    expect([points(0.0213), points(0), points(0.0001), points(-0.0001)]).toEqual(["+2.1 pp", "0 pp", "< +0.1 pp", "> −0.1 pp"]);
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
    expect(amount("cuda.device", "1")).toBe("1 GPU");
    expect(["cuda.device", "rocm.device", "cuda.shares", "gpu", "tpu.device", "licence"].map(slotName)).toEqual(["CUDA GPUs", "ROCm GPUs", "CUDA GPU shares", "GPUs", "TPU devices", "licence"]);
    expect(["cuda.device", "cpu", "mem"].map(slotLabel)).toEqual(["CUDA GPUs", "CPU, cores", "Memory, GiB"]);
    expect([amountOf("cuda.device", "1"), amountOf("cpu", "2"), amountOf("mem", 2 ** 31), amountOf("licence", "3")]).toEqual(["1 CUDA GPU", "2 CPU cores", "2 GiB of memory", "3 licence"]);
    expect([hours("cpu", "7200"), hoursUnit("mem")]).toEqual([2, "GiB-hours"]);
    expect(["cuda.device", "cuda.shares", "cpu", "mem", "licence"].map(hoursOf)).toEqual(["GPU-hours (CUDA)", "GPU-share-hours (CUDA)", "core-hours (CPU)", "GiB-hours (memory)", "unit-hours (licence)"]);
    expect(ordered(["mem", "cpu", "cuda.device"])).toEqual(["cuda.device", "cpu", "mem"]);
    expect(described({ cpu: "4", mem: String(2 ** 30) })).toBe("4 CPU cores, 1 GiB of memory");
    expect(described({})).toBe("nothing");
  });
});

describe("time", () => {
  it("is counted from now", () => {
    const now = Date.parse("2026-01-13T12:00:00Z");
    expect(ago("2026-01-13T11:55:00Z", now)).toBe("5 minutes ago");
    expect([duration(30), duration(600), duration(7200), duration(864000)]).toEqual(["30 s", "10 min", "2.0 h", "10 days"]);
    expect([plusDays("2026-02-27", 2), daysBetween("2026-01-01", "2026-01-31")]).toEqual(["2026-03-01", 30]);
  });
});

describe("decay", () => {
  it("has the server's weight of each age, and none of what is older or to come", () => {
    expect(["2026-01-29", "2026-01-28", "2026-01-27", "2026-01-26", "2026-01-25"].map((day) => weightOf(day, "2026-01-28", ["1", "0.75", "0.5"]))).toEqual([0, 1, 0.75, 0.5, 0]);
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
