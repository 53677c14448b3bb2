// The address of what is seen.
import { useState } from "preact/hooks";
import { copyText } from "../lib/clipboard.ts";
import { Button } from "./Basics.tsx";

export function CopyLink() {
  const [copied, setCopied] = useState(false);
  return <Button onClick={() => void copyText(location.href).then(setCopied)}>{copied ? "Copied" : "Copy the link"}</Button>;
}
