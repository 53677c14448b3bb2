// Holds a real server against the audits of the reference implementation of "GraphQL over HTTP".
// Usage: node audit.mjs PROGRAM, where PROGRAM is the compiled `fairshared`. Fails unless every audit passes.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { serverAudits } from "graphql-http";

// An update of the package must not take audits away without notice.
const MIN_AUDITS = 61;

const [program] = process.argv.slice(2);
if (!program) {
  console.error("usage: node audit.mjs PROGRAM");
  process.exit(2);
}
const folder = mkdtempSync(join(tmpdir(), "fairshared-audits-"));
const database = ["--database-url", `sqlite://${join(folder, "fairshared.db")}`];
let server;

async function start() {
  execFileSync(program, [...database, "migrate", "up"], { stdio: "ignore" });
  const create = [...database, "keys", "create", "--role", "admin", "--label", "audits"];
  const key = execFileSync(program, create, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
  server = spawn(program, [...database, "serve", "--listen", "127.0.0.1:0"], { stdio: ["ignore", "pipe", "ignore"] });
  for await (const line of createInterface({ input: server.stdout })) {
    const [, address] = line.match(/listening on (\S+)/) ?? [];
    if (address) return { address, key };
  }
  throw new Error("the server did not start");
}

async function run({ address, key }) {
  const fetchFn = (url, init = {}) => fetch(url, { ...init, headers: { ...init.headers, authorization: `Bearer ${key}` } });
  const audits = serverAudits({ url: `${address}/graphql`, fetchFn });
  let failed = 0;
  for (const audit of audits) {
    const result = await audit.fn();
    if (result.status === "ok") continue;
    failed += 1;
    console.error(`${audit.id} ${audit.name}: ${result.reason}`);
  }
  console.log(`GraphQL over HTTP: ${audits.length - failed} of ${audits.length} audits pass`);
  return failed === 0 && audits.length >= MIN_AUDITS;
}

try {
  process.exitCode = (await run(await start())) ? 0 : 1;
} finally {
  server?.kill();
  rmSync(folder, { recursive: true, force: true });
}
