// A sentence of the server.
import { sentence } from "../lib/sentence.ts";

/** `exact` is what it said where `text` is another form of that. */
export function Said({ text, exact = text }: { text: string; exact?: string }) {
  return <span title={exact}>{sentence(text).map((part, at) => (at % 2 ? <code key={at}>{part}</code> : part))}</span>;
}
