import { describe, expect, it } from "vitest";
import { isNever, largestShare, membersInWords, whyInWords, type Waiting } from "./reasons.ts";

const waits = (reason: string, details: object, blocked_by: string[] = []): Waiting => ({ reason, details: JSON.stringify(details), blocked_by, reserved_at: null });
const why = (...waiting: Parameters<typeof waits>): string => whyInWords(waits(...waiting), true);

describe("the reason of a workload", () => {
  it("is one sentence with its numbers", () => {
    const large = { slot: "cuda.device", asked: "5000", most: "8" };
    expect(why("too_large", { scope: "agent", ...large })).toBe("It asks for 5000 CUDA GPUs, and can never start: a node has 8 CUDA GPUs at most.");
    expect(why("too_large", { scope: "group", ...large })).toBe("It asks for 5000 CUDA GPUs, and can never start: the group has 8 CUDA GPUs.");
    expect(why("too_large", { scope: "queue", queue: "ml", slot: "mem", asked: "2147483648", most: "1073741824" })).toBe(
      "It asks for 2 GiB of memory, and can never start: the limit of the queue ml is 1 GiB of memory.",
    );
    expect(why("too_large", { scope: "members", asked: "4", most: "2" })).toBe("4 of its members have to run together, and 2 fit on all nodes: it can never start.");
    expect(why("predicates", { refused: { labels: 3, taints: 1 }, agents: 4 })).toBe(
      "None of 4 nodes admits it, and it can never start: 3 lack the labels, 1 have taints that it does not tolerate.",
    );
    expect(whyInWords(waits("predicates", { refused: { schedulable: 2 }, agents: 2 }), false)).toBe("None of 2 nodes admits it now: 2 take no work.");
    expect(why("no_room", { slot: "cpu", asked: "4", most_free: "3", free: "5" })).toBe("It asks for 4 CPU cores; the node with the most free has 3 CPU cores, all nodes together 5 CPU cores.");
    expect(why("gang", { fit: 1, minimum: 4 })).toBe("1 member of the 4 that have to start together fits now.");
    expect(why("gang", { fit: 0, minimum: 3, reported: 1 })).toBe("1 member of the 3 that have to start together is reported so far.");
    expect(whyInWords(waits("predicates", { refused: {}, agents: 0 }), false)).toBe("No node of the group is known.");
    expect(why("queue_share", { queue: "ml", share: { cpu: "4" }, held: { cpu: "5" } })).toBe("The queue ml holds 5 CPU cores; its share is 4 CPU cores, and others are below theirs.");
    expect(why("reclaim_refused", { rule: "saturation", level: "ml", slot: "cpu", victim_ratio: "0.5", reclaimer_ratio: "0.75" })).toBe(
      "It deserves more, but no workload may be made to give it back: of its share of CPU the queue ml has 50.0 %, and the one that asks 75.0 %.",
    );
    expect(why("reclaim_refused", { rule: "no_candidate", level: null, slot: null, victim_ratio: null, reclaimer_ratio: null })).toBe("It deserves more, but no workload may be made to give it back.");
    expect(why("reserved", { until: "2026-01-13T10:00:00Z" }, ["w1"])).toMatch(/^It would delay w1, for which room is kept until .*\.$/);
    expect(why("behind", {}, ["w1"])).toBe("It waits behind w1, which does not fit now.");
    expect(why("something_new", {})).toBe("something new.");
  });

  it("tells what can never start from what waits", () => {
    expect(["too_large", "predicates", "gang"].map((reason) => isNever({ position: null, waiting: { reason } }))).toEqual([true, true, false]);
    expect(isNever({ position: 3, waiting: { reason: "predicates" } })).toBe(false);
  });
});

it("members are counted by what they do", () => {
  expect(membersInWords({ total: 5, pending: 2, running: 2 })).toBe("2 of 4 run");
  expect(membersInWords({ total: 1, pending: 1, running: 0 })).toBe("1 kernel");
});

it("the largest share is that of any slot", () => {
  expect(largestShare('{"cpu": "0.25", "mem": "0.5"}')).toBe(0.5);
  expect(largestShare("{}")).toBe(0);
});
