// A text to be copied as it stands, such as a command or a key.
import { useState } from "preact/hooks";
import { copyText } from "../lib/clipboard.ts";
import { Button } from "./Basics.tsx";

/** `what` is copied: “the key”. */
export function Copyable({ text, what, kind = "plain" }: { text: string; what: string; kind?: "primary" | "plain" }) {
  const [said, setSaid] = useState("");
  const copy = async () => setSaid((await copyText(text)) ? "Copied" : "This browser did not let the page copy");
  return (
    <div class="stack tight">
      <pre class="code" tabIndex={0} aria-label={what}>
        {text}
      </pre>
      <div class="row">
        <Button small={kind === "plain"} {...(kind === "primary" ? { kind } : {})} aria-label={`Copy ${what}`} onClick={() => void copy()}>
          Copy
        </Button>
        <span role="status" class="muted small">
          {said}
        </span>
      </div>
    </div>
  );
}
