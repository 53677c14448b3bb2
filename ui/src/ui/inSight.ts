// The field that is being edited stays in sight above a bar that sticks to the lower edge of the window.
import type { RefObject } from "preact";
import { useLayoutEffect } from "preact/hooks";

/** The free space between the bar and the element with the focus, in pixels. */
const GAP = 12;

export function useInSight(ref: RefObject<HTMLElement>): void {
  useLayoutEffect(() => {
    const bar = ref.current;
    if (!bar) return;
    const root = document.documentElement;
    // Comes when the bar appears, and each time it grows.
    const observer = new ResizeObserver(() => {
      root.style.setProperty("--covered", `${bar.offsetHeight + GAP}px`);
      const focused = document.activeElement;
      if (focused && !bar.contains(focused) && covers(bar, focused)) focused.scrollIntoView({ block: "nearest" });
    });
    observer.observe(bar);
    return () => {
      observer.disconnect();
      root.style.removeProperty("--covered");
    };
  }, [ref]);
}

/** A person who has scrolled away from what has the focus is not taken back to it: that is not covered, but elsewhere. */
function covers(bar: HTMLElement, focused: Element): boolean {
  const [over, under] = [bar.getBoundingClientRect(), focused.getBoundingClientRect()];
  return under.bottom > over.top - GAP && under.top < over.bottom;
}
