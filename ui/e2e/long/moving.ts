// The demo as it moves, for what is measured over time.
import type { TestProject } from "vitest/node";
import { demo } from "../server.ts";

export default (project: TestProject): Promise<() => void> => demo(project);
