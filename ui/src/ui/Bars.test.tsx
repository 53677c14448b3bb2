import { expect, it } from "vitest";
import { ShareBar } from "./Bars.tsx";

const props = (bar: ReturnType<typeof ShareBar>) => bar.props as { class: string; "aria-label": string };

it("mark what goes beyond their end, and say where that is", () => {
  const cut = props(ShareBar({ used: 0.3, entitled: 0.1, of: 0.25 }));
  expect(cut.class).toContain("cut");
  expect(cut["aria-label"]).toBe("30.0 % used, entitled to 10.0 %; the bar ends at 25 %");
  expect(props(ShareBar({ used: 0.25, entitled: 0.1, of: 0.25 })).class).not.toContain("cut");
});
