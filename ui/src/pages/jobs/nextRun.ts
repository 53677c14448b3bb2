// When a job runs next, in words.
import { ago } from "../../lib/time.ts";

/** `in 5 minutes`; `due` once that time has passed and the job has not started. */
export function nextRun(at: string, now = Date.now()): string {
  return Date.parse(at) > now ? ago(at, now) : "due";
}
