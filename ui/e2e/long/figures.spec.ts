// The size of the first page, and the time until one can use it.
import { gzipSync } from "node:zlib";
import { afterAll, it } from "vitest";
import { address, adminKey, figure, launch, person, shutDown } from "../browser.ts";
import { GROUP } from "../pages.ts";

const TIMES = 9;

afterAll(shutDown);

const middle = (all: number[]): number => all.toSorted((a, b) => a - b)[(all.length - 1) / 2] ?? 0;

/** The size of a file as servers send it. */
async function packed(url: string): Promise<number> {
  const answer = await fetch(url, { headers: { Accept: "text/html,*/*" } });
  return gzipSync(Buffer.from(await answer.arrayBuffer()), { level: 9 }).length;
}

it("the first page", async () => {
  const { context, leave } = await person(adminKey());
  const state = await context.storageState();
  await leave();
  /** A tab that is signed in and has nothing in its cache. */
  const freshTab = async () => (await (await launch()).newContext({ storageState: state, viewport: { width: 1440, height: 900 } })).newPage();

  const first = await freshTab();
  const asked = new Set<string>();
  first.on("request", (request) => {
    if (["document", "script", "stylesheet"].includes(request.resourceType())) asked.add(request.url());
  });
  await first.goto(`${address()}/ui/${GROUP}/overview`);
  await first.locator(".bar").first().waitFor();
  const sizes = await Promise.all([...asked].map(async (url): Promise<[string, number]> => [url.split("/").at(-1) ?? "", await packed(url)]));
  const bytes = sizes.reduce((sum, [, size]) => sum + size, 0);
  figure(`the first page loads ${sizes.length} files, ${(bytes / 1000).toFixed(1)} kB compressed: ${sizes.map(([name, size]) => `${name} ${(size / 1000).toFixed(1)}`).join(", ")}`);
  await first.context().close();

  const usable: number[] = [];
  for (let turn = 0; turn < TIMES; turn++) {
    const tab = await freshTab();
    await tab.goto(`${address()}/ui/${GROUP}/overview`, { waitUntil: "commit" });
    usable.push(
      await tab.evaluate(async () => {
        while (!document.querySelector(".bar") || document.querySelector(".skeleton")) await new Promise(requestAnimationFrame);
        return performance.now();
      }),
    );
    await tab.context().close();
  }
  figure(`the overview of the demo can be used ${middle(usable).toFixed(0)} ms after it was asked for (median of ${TIMES} with an empty cache, ${Math.max(...usable).toFixed(0)} ms at most)`);
});
