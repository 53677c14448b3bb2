// Measurements that take too long for every change, against a demo that moves.
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: { include: ["e2e/long/*.spec.ts"], globalSetup: ["e2e/long/moving.ts"], fileParallelism: false, testTimeout: 1_200_000, hookTimeout: 60_000, disableConsoleIntercept: true },
});
