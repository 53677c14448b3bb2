// The pages behind a proxy, below a path that is not the server's own.
import { createServer, request as ask } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, expect, it } from "vitest";
import { DESKTOP, person, settled, shutDown } from "./browser.ts";
import { emptyServer, type OwnServer } from "./server.ts";

afterAll(shutDown);

const PREFIX = "/cluster/fair";

/** A proxy that takes its own path away before it passes a request on, and has nothing outside of it. */
async function proxied(): Promise<{ at: string; serve: (server: OwnServer) => void; outside: string[]; stop: () => void }> {
  const outside: string[] = [];
  let behind = "";
  const proxy = createServer((asked, answer) => {
    const url = asked.url ?? "";
    if (!url.startsWith(`${PREFIX}/`)) {
      outside.push(url);
      answer.writeHead(404).end();
      return;
    }
    const passed = ask(`${behind}${url.slice(PREFIX.length)}`, { method: asked.method, headers: asked.headers }, (passedOn) => {
      answer.writeHead(passedOn.statusCode ?? 502, passedOn.headers);
      passedOn.pipe(answer);
    });
    passed.on("error", () => answer.destroy());
    asked.pipe(passed);
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const { port } = proxy.address() as AddressInfo;
  const serve = (server: OwnServer) => (behind = server.address);
  return { at: `http://127.0.0.1:${port}${PREFIX}`, serve, outside, stop: () => proxy.close() };
}

it("below a path of a proxy a person signs in, walks the pages and saves, and nothing outside of it is asked for", async () => {
  const proxy = await proxied();
  const server = await emptyServer({ FAIRSHARED_PUBLIC_URL: proxy.at });
  proxy.serve(server);
  const headers = { Authorization: `Bearer ${server.key}`, "Content-Type": "application/json" };
  const api = async (query: string) => {
    const answer = await fetch(`${server.address}/graphql`, { method: "POST", headers, body: JSON.stringify({ query }) });
    const { data, errors } = (await answer.json()) as { data: Record<string, never>; errors?: unknown };
    expect(errors).toBeUndefined();
    return data;
  };
  await fetch(`${server.address}/resource-groups/small`, { method: "PUT", headers, body: "{}" });
  await api(`mutation { upsert_domain(name: "physics") { name } upsert_domain_fair_share(resource_group: "small", domain_name: "physics", weight: "2") { weight } }`);

  const { page, complaints, leave } = await person(null, DESKTOP, proxy.at);
  await page.getByLabel("API key").fill(server.key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "small" }).waitFor();
  const [cookie] = await page.context().cookies();
  expect(cookie?.path.startsWith(PREFIX)).toBe(true);
  await page.getByRole("link", { name: "Shares", exact: true }).click();
  await page.getByRole("link", { name: "physics" }).waitFor();
  expect(page.url()).toBe(`${proxy.at}/ui/small/shares`);
  await page.reload();
  await page.getByLabel("Weight of domain physics").fill("3");
  const bar = page.getByRole("region", { name: "Changes that are not saved" });
  await bar.getByRole("region", { name: "What would change" }).waitFor();
  await bar.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved: physics 2 → 3").waitFor();
  await page.getByRole("link", { name: "physics" }).click();
  await page.waitForURL(`${proxy.at}/ui/small/entity/domain/physics`);
  await settled(page);
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByText("You are signed out.").waitFor();
  expect(proxy.outside).toEqual([]);
  expect(complaints).toEqual([]);
  await leave();
  server.stop();
  proxy.stop();
});
