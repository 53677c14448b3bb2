// Starts the demo that the tests look at, and ends it.
import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    address: string;
    key: string;
    program: string;
  }
}

const PROGRAM = process.env["FAIRSHARED_PROGRAM"] ?? fileURLToPath(new URL("../../target/debug/fairshared", import.meta.url));

export default async function start(project: TestProject): Promise<() => void> {
  const demo: ChildProcess = spawn(PROGRAM, ["demo", "--still", "--listen", "127.0.0.1:0"], { stdio: ["ignore", "pipe", "ignore"], env: {} });
  const welcome = await new Promise<string>((resolve, reject) => {
    let text = "";
    demo.stdout?.on("data", (part: Buffer) => {
      text += part.toString();
      if (text.includes("Ctrl-C")) resolve(text);
    });
    demo.on("error", reject);
    demo.on("exit", (code) => reject(new Error(`the demo ended with ${code}: ${text}`)));
  });
  const found = /Look\s+(http:\/\/[^/]+)\/ui\/#key=(\S+)/.exec(welcome);
  if (!found?.[1] || !found[2]) throw new Error(`the demo told no link: ${welcome}`);
  project.provide("address", found[1]);
  project.provide("key", found[2]);
  project.provide("program", PROGRAM);
  return () => {
    demo.removeAllListeners("exit");
    demo.kill("SIGTERM");
  };
}
