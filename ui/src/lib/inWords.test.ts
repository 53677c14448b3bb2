import { expect, it } from "vitest";
import { inWords, statements } from "./inWords.ts";

const SLOTS = ["cpu", "cuda.device", "mem"];
const GIB = 2 ** 30;

it("calls slots as the pages do, with amounts in their units", () => {
  expect(inWords("the quotas add up to more than the capacity of 88 cuda.device", SLOTS)).toBe("the quotas add up to more than the capacity of 88 CUDA GPUs");
  expect(inWords(`the limit of ${GIB} mem is below the quota of ${8 * GIB}, which counts.`, SLOTS)).toBe("the limit of 1 GiB of memory is below the quota of 8 GiB, which counts.");
  expect(inWords("no agent offers `cuda.device`.", SLOTS)).toBe("no agent offers CUDA GPUs.");
});

it("calls what was used as reports do", () => {
  expect(inWords("30 % of what counts is the 638 hours of cuda.device of 13 November 2026.", SLOTS)).toBe("30 % of what counts is the 638 GPU-hours (CUDA) of 13 November 2026.");
  expect(inWords("100 % of what counts is today's 12345 GiB-hours of mem.", SLOTS)).toBe("100 % of what counts is today's 12345 GiB-hours (memory).");
});

it("leaves what is no slot, and what is no amount of bytes", () => {
  expect(inWords("the queue cpu-team gets its quota", SLOTS)).toBe("the queue cpu-team gets its quota");
  expect(inWords(`gets ${3 * GIB} of ${4 * GIB} mem: ${2 * GIB} quota + 1/2 of the ${2 * GIB} unused`, SLOTS)).toBe("gets 3 GiB of 4 GiB of memory: 2 GiB quota + 1/2 of the 2 GiB unused");
});

it("takes what is said of several slots apart", () => {
  const sentence = "gets 96.333333333333 of 704 cpu: 64 quota + 1/3 of the 97 unused + 0.000000000001 last digit; gets 1 of 88 cuda.device: 1 quota";
  expect(statements(sentence, SLOTS)).toEqual(["gets 96.333333333333 of 704 CPU cores: 64 quota + 1/3 of the 97 unused", "gets 1 of 88 CUDA GPUs: 1 quota"]);
});
