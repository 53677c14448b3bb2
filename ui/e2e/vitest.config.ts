// Whole tasks in Chromium, one after the other, against a demo of the program. A task that a busy machine held up is tried once more.
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: { include: ["e2e/*.spec.ts"], globalSetup: ["e2e/server.ts"], setupFiles: ["e2e/failures.ts"], fileParallelism: false, disableConsoleIntercept: true, retry: 1, testTimeout: 180_000, hookTimeout: 60_000, expect: { poll: { timeout: 20_000, interval: 100 } } },
});
