// The visibility of elements, as the browser finds it on the screen.
import type { Locator } from "playwright-core";

/** True if all of `target` is on the screen, and nothing lies over its middle. */
export const inSight = (target: Locator): Promise<boolean> =>
  target.evaluate((element) => {
    const { left, top, right, bottom } = element.getBoundingClientRect();
    if (left < 0 || top < 0 || right > innerWidth || bottom > innerHeight) return false;
    return element.contains(document.elementFromPoint((left + right) / 2, (top + bottom) / 2));
  });
