// The memory of a tab that follows the moving demo for ten minutes: what is left after a forced collection, each minute.
import { afterAll, expect, it } from "vitest";
import { adminKey, figure, person, shutDown } from "../browser.ts";
import { GROUP } from "../pages.ts";

const MINUTES = Number(process.env["MINUTES"] ?? 10);
const MIB = 2 ** 20;

afterAll(shutDown);

it("a tab that is left open does not grow", async () => {
  const { page, complaints, goto, leave } = await person(adminKey());
  await goto(`${GROUP}/overview`);
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable");
  let answers = 0;
  page.on("response", (response) => {
    if (response.url().endsWith("/graphql")) answers++;
  });
  const sizes: number[] = [];
  for (let minute = 0; minute <= MINUTES; minute++) {
    if (minute > 0) await page.waitForTimeout(60_000);
    await session.send("HeapProfiler.collectGarbage");
    const { metrics } = await session.send("Performance.getMetrics");
    const of = (name: string): number => metrics.find((metric) => metric.name === name)?.value ?? 0;
    sizes.push(of("JSHeapUsedSize") / MIB);
    figure(`after ${minute} min: ${(of("JSHeapUsedSize") / MIB).toFixed(1)} MiB of heap, ${of("Nodes")} nodes, ${of("JSEventListeners")} listeners, ${answers} answers so far`);
  }
  // Memory that is kept for good is there after the first minute.
  expect(sizes.at(-1)).toBeLessThan((sizes[1] ?? 0) + 2);
  expect(answers).toBeGreaterThan(MINUTES * 20);
  expect(complaints).toEqual([]);
  await leave();
});
