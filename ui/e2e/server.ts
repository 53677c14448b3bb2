// Starts servers that tests look at, and ends them.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
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

/** Starts the program, and waits until its output has what `found` looks for. */
async function started(args: string[], found: RegExp, env: Record<string, string> = {}): Promise<{ child: ChildProcess; output: RegExpExecArray }> {
  // The files of a program that is killed go with the folder for temporary files.
  const child = spawn(PROGRAM, args, { stdio: ["ignore", "pipe", "pipe"], env: { TMPDIR: tmpdir(), ...env } });
  const output = await new Promise<RegExpExecArray>((resolve, reject) => {
    let text = "";
    const hear = (part: Buffer) => {
      text += part.toString();
      const match = found.exec(text);
      if (match) resolve(match);
    };
    child.stdout?.on("data", hear);
    child.stderr?.on("data", hear);
    child.on("error", reject);
    child.on("exit", (code) => reject(new Error(`${args.join(" ")} ended with ${code}: ${text}`)));
  });
  child.removeAllListeners("exit");
  return { child, output };
}

/** A demo with these arguments, for all tests of a run. */
export async function demo(project: TestProject, ...args: string[]): Promise<() => void> {
  const { child, output } = await started(["demo", ...args, "--listen", "127.0.0.1:0"], /Look\s+(http:\/\/[^/]+)\/ui\/[^#]*#key=(\S+)[^]*Ctrl-C/);
  project.provide("address", output[1] ?? "");
  project.provide("key", output[2] ?? "");
  project.provide("program", PROGRAM);
  return () => child.kill("SIGTERM");
}

export interface OwnServer {
  address: string;
  key: string;
  stop: () => void;
}

/** A server of a test's own, with an empty database and this environment. */
export async function emptyServer(env: Record<string, string> = {}): Promise<OwnServer> {
  const folder = mkdtempSync(join(tmpdir(), "fairshared-e2e-"));
  const database = ["--database-url", `sqlite://${join(folder, "fairshared.db")}`];
  execFileSync(PROGRAM, ["migrate", "up", ...database], { stdio: "ignore", env: {} });
  const key = execFileSync(PROGRAM, ["keys", "create", "--role", "admin", "--label", "test", ...database], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"], env: {} }).trim();
  const { child, output } = await started(["serve", "--listen", "127.0.0.1:0", ...database], /127\.0\.0\.1:[1-9]\d*/, env);
  const stop = () => {
    child.kill("SIGTERM");
    rmSync(folder, { recursive: true, force: true });
  };
  return { address: `http://${output[0]}`, key, stop };
}

export default (project: TestProject): Promise<() => void> => demo(project, "--still");
