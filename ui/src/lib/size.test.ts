// The files that are checked in keep to the sizes of the design: the first page, and the additions of each other page.
import { readdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";

const DIST = new URL("../../dist/", import.meta.url);
const FIRST_PAGE_BYTES = 90_000;
const LAZY_PAGE_BYTES = 30_000;

const read = (path: string): string => readFileSync(new URL(path, DIST), "utf8");
const packed = (path: string): number => gzipSync(read(path)).length;
const pages = readdirSync(new URL("../pages/", import.meta.url), { withFileTypes: true }).filter((entry) => entry.isDirectory()).map((entry) => entry.name);

/** The file and what it imports at once. */
function withImports(file: string, known = new Set<string>()): Set<string> {
  if (known.has(file)) return known;
  known.add(file);
  for (const [, imported] of read(`assets/${file}`).matchAll(/(?:from|import)\s*"\.\/([\w.-]+\.js)"/g)) withImports(imported as string, known);
  return known;
}

const sum = (files: Iterable<string>): number => [...files].reduce((bytes, file) => bytes + packed(`assets/${file}`), 0);
const first = withImports("app.js");

it("the first page is small", () => {
  expect(packed("index.html") + packed("assets/app.css") + sum(new Set([...first, ...withImports("overview.js")]))).toBeLessThanOrEqual(FIRST_PAGE_BYTES);
});

it.each(pages)("the page %s adds little", (page) => {
  const added = [...withImports(`${page}.js`)].filter((file) => !first.has(file));
  expect(added).toContain(`${page}.js`);
  expect(sum(added)).toBeLessThanOrEqual(LAZY_PAGE_BYTES);
});

it("what is loaded later is small, too", () => {
  for (const file of readdirSync(new URL("assets/", DIST)).filter((name) => name.endsWith(".js") && !first.has(name))) expect(packed(`assets/${file}`), file).toBeLessThanOrEqual(LAZY_PAGE_BYTES);
});
