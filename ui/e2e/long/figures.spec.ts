// What the first page weighs, and how long it takes until one can use it.
import { gzipSync } from "node:zlib";
import { afterAll, it } from "vitest";
import { address, adminKey, figure, launch, person, shutDown } from "../browser.ts";
import { GROUP } from "../pages.ts";

const TIMES = 9;

afterAll(shutDown);

const middle = (all: number[]): number => all.toSorted((a, b) => a - b)[(all.length - 1) / 2] ?? 0;

it("the first page", async () => {
  const { page, context, leave } = await person(adminKey());
  const state = await context.storageState();
  const loaded = new Map<string, number>();
  page.on("response", async (response) => {
    const kind = response.request().resourceType();
    if (["document", "script", "stylesheet"].includes(kind)) loaded.set(new URL(response.url()).pathname, gzipSync(await response.body(), { level: 9 }).length);
  });
  await page.goto(`${address()}/ui/${GROUP}/overview`);
  await page.locator(".bar").first().waitFor();
  await page.waitForLoadState("networkidle").catch(() => undefined);
  const bytes = [...loaded.values()].reduce((sum, size) => sum + size, 0);
  figure(`the first page loads ${loaded.size} files, ${(bytes / 1000).toFixed(1)} kB compressed: ${[...loaded].map(([path, size]) => `${path.split("/").at(-1)} ${(size / 1000).toFixed(1)}`).join(", ")}`);
  await leave();

  const usable: number[] = [];
  for (let turn = 0; turn < TIMES; turn++) {
    // A new context has an empty cache.
    const fresh = await (await launch()).newContext({ storageState: state, viewport: { width: 1440, height: 900 } });
    const tab = await fresh.newPage();
    await tab.goto(`${address()}/ui/${GROUP}/overview`, { waitUntil: "commit" });
    usable.push(
      await tab.evaluate(async () => {
        while (!document.querySelector(".bar") || document.querySelector(".skeleton")) await new Promise(requestAnimationFrame);
        return performance.now();
      }),
    );
    await fresh.close();
  }
  figure(`the overview of the demo can be used ${middle(usable).toFixed(0)} ms after it was asked for (median of ${TIMES} with an empty cache, ${Math.max(...usable).toFixed(0)} ms at most)`);
});
