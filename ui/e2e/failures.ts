// Says of each test that failed what its pages show, in lines that the run repeats at its end.
import { afterEach } from "vitest";
import { openPeople } from "./browser.ts";

/** The characters of a page that are shown. */
const MAX_TEXT = 1_500;

/** Prints a text with a mark before each line. */
function say(text: string): void {
  process.stdout.write(text.replace(/^/gm, "failed: ") + "\n");
}

afterEach(async ({ task }) => {
  if (task.result?.state !== "fail") return;
  say(`${task.file.name}: ${task.name}`);
  for (const { message } of task.result.errors ?? []) say(`  ${message}`);
  for (const { page, complaints, refusals } of openPeople()) {
    const text = await page.locator("body").innerText({ timeout: 5_000 }).catch(String);
    say(`  ${page.url()}\n  complaints: ${complaints.join("; ")}\n  refusals: ${refusals.join("; ")}\n  ${text.slice(-MAX_TEXT)}`);
  }
});
