// Light or dark: as the system has it, or as the reader chose.
import { signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";
const KEY = "fairshared.theme";

function stored(): Theme {
  const text = localStorage.getItem(KEY);
  return text === "light" || text === "dark" ? text : "system";
}

export const theme = signal<Theme>(stored());

export function applyTheme(): void {
  if (theme.value === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme.value;
}

export function chooseTheme(next: Theme): void {
  theme.value = next;
  localStorage.setItem(KEY, next);
  applyTheme();
}
