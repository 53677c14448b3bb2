// The first file: signs in by the address if it carries a key, then shows what the address names.
import "./app.css";
import "uplot/dist/uPlot.min.css";
import { render } from "preact";
import { App } from "./App.tsx";
import { begin } from "./lib/session.ts";
import { applyTheme } from "./lib/theme.ts";

const key = new URLSearchParams(location.hash.slice(1)).get("key");
// The key must not stay in the address, nor in the history.
if (location.hash) history.replaceState(null, "", location.pathname + location.search);
applyTheme();
const root = document.getElementById("app");
if (root) {
  root.textContent = "";
  render(<App />, root);
}
void begin(key);
