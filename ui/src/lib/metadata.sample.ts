// The facts of a server for unit tests: a file that the server's own tests write and compare.
import { readFileSync } from "node:fs";
import { setMetadata, type Metadata } from "./metadata.ts";

const text = readFileSync(new URL("metadata.sample.json", import.meta.url), "utf8");

/** GraphQL has defaults as JSON texts. */
const asText = (key: string, value: unknown): unknown => (key === "default" && value !== null && typeof value !== "undefined" ? JSON.stringify(value) : value);

setMetadata(JSON.parse(JSON.stringify(JSON.parse(text), asText)) as Metadata);
