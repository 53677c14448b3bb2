import { describe, expect, it } from "vitest";
import { graphql } from "../gql.ts";
import { copies, EMPTY, quoted } from "./copy.ts";

const QUERY = graphql(`query One($group: String!) { resource_group(name: $group) { name } }`);
const at = "https://example.org/fair";

describe("what is copied", () => {
  it("is a document with its variables, a request with a placeholder for the key, and a command", () => {
    const { graphql, curl, cli } = copies(
      { document: QUERY, variables: { group: "a b" }, rest: { path: ["resource-groups", "a b"], query: { limit: 5, cursor: null, who: "x&y" } }, command: ["groups", "show", "a b", ["--output", "json"], ["--user", null]] },
      at,
    );
    expect(graphql).toMatch(/^query One\(\$group: String!\) \{[^]*# Variables:\n# \{"group":"a b"\}$/);
    expect(curl).toBe(`curl -s -H "Authorization: Bearer $FAIRSHARED_KEY" 'https://example.org/fair/resource-groups/a%20b?limit=5&who=x%26y'`);
    expect(cli).toBe(`FAIRSHARED_SERVER=https://example.org/fair fairshared groups show 'a b' --output=json`);
  });

  it("writes with a body, and with a standard input", () => {
    const { curl, cli } = copies({ document: QUERY, variables: {}, rest: { method: "PUT", path: ["x"], body: { reason: "it's" } }, command: ["plan", "g", "-"], input: { a: 1 } }, at);
    expect(curl).toContain(`-X PUT -H "Authorization: Bearer $FAIRSHARED_KEY" -H 'Content-Type: application/json' -d '{"reason":"it'\\''s"}'`);
    expect(cli).toBe(`FAIRSHARED_SERVER=https://example.org/fair fairshared plan g - <<'JSON'\n{\n  "a": 1\n}\nJSON`);
  });

  it("asks GraphQL where REST does not have it, and knows no command where there is none", () => {
    const { curl, cli } = copies({ document: QUERY, variables: { group: "g" } }, at);
    expect(curl).toContain("-X POST");
    expect(curl).toMatch(/example\.org\/fair\/graphql$/);
    expect(cli).toBeUndefined();
  });

  it("leaves out a text that is empty, unless it is to be sent", () => {
    const { curl, cli } = copies({ document: QUERY, variables: {}, rest: { path: ["x"], query: { a: "", b: EMPTY } }, command: ["usage", ["--a", ""], ["--b", EMPTY]] }, at);
    expect(curl).toContain("/x?b=");
    expect(cli).toMatch(/fairshared usage --b=$/);
  });

  it("is safe in a shell", () => {
    expect(["plain-1.2", "a b", "$(rm x)", "o'clock", ""].map(quoted)).toEqual(["plain-1.2", "'a b'", "'$(rm x)'", `'o'\\''clock'`, "''"]);
  });
});
