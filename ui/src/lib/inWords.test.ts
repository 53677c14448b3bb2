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

it("takes what is said of several slots apart, with four digits and the exact words beside them", () => {
  const cpu = "gets 96.333333333334 of research's 704 cpu: 64 quota + 1/3 of the 97 unused + 0.000000000001 last digit";
  expect(statements(`${cpu}; gets 1 of 88 cuda.device: 1 quota`, SLOTS)).toEqual([
    { text: "gets 96.33 of research's 704 CPU cores: 64 quota + 1/3 of the 97 unused", exact: cpu, slot: "cpu" },
    { text: "gets 1 of 88 CUDA GPUs: 1 quota", exact: "gets 1 of 88 cuda.device: 1 quota", slot: "cuda.device" },
  ]);
  const ratio = "is to have 0.333333333333 of the whole (1/3 of 1 by weight)";
  expect(statements(ratio, SLOTS)).toEqual([{ text: "is to have 0.3333 of the whole (1/3 of 1 by weight)", exact: ratio, slot: undefined }]);
});

it("shortens what is left, by what part, and what is beside slots that are reasons", () => {
  const text = (sentence: string): string | undefined => statements(sentence, SLOTS)[0]?.text;
  expect(text("gets 12345.678 of 20480 cpu: 8000.25 quota + 1.333333333333/2.666666666666 of the 8690.856 unused")).toBe("gets 12\u202f346 of 20\u202f480 CPU cores: 8000 quota + 50 % of the 8691 unused");
  expect(text(`gets ${3 * GIB}.333333333333 of ${4 * GIB} mem: ${2 * GIB} quota + ${GIB}/${2 * GIB} of the ${2 * GIB} unused`)).toBe("gets 3 GiB of 4 GiB of memory: 2 GiB quota + 50 % of the 2 GiB unused");
  expect(text(`gets ${GIB} of ${4 * GIB} mem: ${GIB} by filling all queues evenly, ended by its request of cpu`)).toBe("gets 1 GiB of 4 GiB of memory: 1 GiB by filling all queues evenly, ended by its request of cpu");
  expect(text("gets 2 of team-12345's 4 cpu: 2 quota")).toBe("gets 2 of team-12345's 4 CPU cores: 2 quota");
});
