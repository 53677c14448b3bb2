// The clipboard, also where a browser has none because the page came without TLS.

/** True once the text is in the clipboard. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

function copyBySelection(text: string): boolean {
  const area = document.createElement("textarea");
  area.value = text;
  // A dialog makes what is outside of it unreachable.
  const place = document.querySelector("dialog[open]") ?? document.body;
  const before = document.activeElement;
  place.append(area);
  area.select();
  const copied = document.execCommand("copy");
  area.remove();
  if (before instanceof HTMLElement) before.focus();
  return copied;
}
