// A question or a write of a page as a text with which it can be made elsewhere.
import { useState } from "preact/hooks";
import { basePath } from "../lib/client.ts";
import { copyText } from "../lib/clipboard.ts";
import { copies, type Action, type Copies } from "../lib/copy.ts";
import { Menu } from "./Menu.tsx";

const FORMS: [keyof Copies, string][] = [
  ["graphql", "GraphQL"],
  ["curl", "curl"],
  ["cli", "a command"],
];

/** `what` says what is copied, such as “this query”. */
export function CopyAs({ action, what = "what this page asks" }: { action: Action; what?: string }) {
  const [said, setSaid] = useState("");
  const texts = copies(action, serverAddress());
  const copy = async (form: keyof Copies, name: string) => {
    setSaid((await copyText(texts[form] ?? "")) ? `Copied as ${name}` : "This browser did not let the page copy");
    setTimeout(() => setSaid(""), 4000);
  };
  const choices = FORMS.filter(([form]) => texts[form] !== undefined).map(([form, name]) => ({ name: `Copy as ${name}`, act: () => void copy(form, name) }));
  return (
    <span class="copyas">
      <Menu label="Copy as" title={`Copy ${what} as a text`} choices={choices} />
      <span role="status" class="muted small">
        {said}
      </span>
    </span>
  );
}

/** Where the server is: the folder above that of the pages. */
export function serverAddress(): string {
  return new URL("..", new URL(basePath(), location.origin)).href.replace(/\/$/, "");
}
